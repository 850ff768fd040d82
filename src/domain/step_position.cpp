#include "domain/step_position.hpp"

namespace pawl {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace

ResumePoint resume_point(const StepPosition& position) {
  using How = ResumePoint::How;
  const std::uint64_t here = position.step_index;
  return std::visit(Overload{
                        [&](const BeforeStep&) { return ResumePoint{here, How::start}; },
                        [&](const StepCompleted&) { return ResumePoint{here + 1, How::start}; },
                        [&](const StepFailed& s) { return ResumePoint{here, s.retryable ? How::retry : How::stop}; },
                        [&](const StepInterrupted& s) {
                          return s.in_progress ? ResumePoint{here, How::retry} : ResumePoint{here + 1, How::start};
                        },
                        [&](const StepWaiting&) { return ResumePoint{here, How::wait}; },
                    },
                    position.state);
}

Kind kind_of(const StepPosition& position) {
  constexpr Kind kKinds[] = {Kind::step_start, Kind::step_complete, Kind::error, Kind::interrupted, Kind::waiting};
  return kKinds[position.state.index()];
}

std::string_view to_text(const StepPosition& position) {
  constexpr std::string_view kTexts[] = {"before_step", "completed", "failed", "interrupted", "waiting"};
  return kTexts[position.state.index()];
}

}  // namespace pawl
