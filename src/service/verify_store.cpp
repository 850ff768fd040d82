#include "service/verify_store.hpp"

#include <algorithm>

#include "domain/erasure.hpp"

namespace pawl {
namespace {

Result<void> check_anchor_of(Evidence& evidence, const Anchor& anchor) {
  PAWL_TRY_ASSIGN(const Uuid store, evidence.store_id());
  if (store == anchor.store) return {};
  return fail(
      Error{Code::anchor_mismatch,
            fmt::format("the anchor belongs to store {}, but this is store {}", anchor.store.text(), store.text()),
            {},
            "name the right store with --store, or the anchor of this store",
            0});
}

}  // namespace

bool VerifiedStore::fine() const {
  return gone.empty() && std::ranges::none_of(runs, [](const RunVerdict& verdict) { return verdict.bad.has_value(); });
}

Result<VerifiedStore> verify_store(Evidence& evidence, const std::string& run, const std::optional<Anchor>& anchor,
                                   const VerifyOne& verify) {
  if (anchor) PAWL_TRY(check_anchor_of(evidence, *anchor));
  VerifiedStore verified;
  std::vector<std::string> names = {run};
  const bool all = run.empty();
  if (all) {
    PAWL_TRY_ASSIGN(names, evidence.runs());
    for (const AuditHead& head : anchor ? anchor->runs : std::vector<AuditHead>()) {
      if (std::ranges::find(names, head.run) == names.end()) verified.gone.push_back(head.run);
    }
  }
  for (const std::string& name : names) {
    const auto id = RunId::parse(name);
    if (!id && all) continue;  // a folder that is not a run
    if (!id) return std::unexpected(id.error());
    const AnchorPoint* point = anchor ? anchor->find(name) : nullptr;
    auto verdict = verify(evidence, *id, point);
    if (!verdict && verdict.error().code == Code::run_not_found && point != nullptr) {
      verified.gone.push_back(name);
      continue;
    }
    if (!verdict && all && is_gone_or_missing(verdict.error().code)) continue;  // removed meanwhile
    if (!verdict) return std::unexpected(verdict.error());
    if (anchor && point == nullptr) verified.fresh.push_back(name);
    verified.runs.push_back(std::move(*verdict));
  }
  return verified;
}

Result<void> check_verified(const VerifiedStore& verified) {
  for (const RunVerdict& verdict : verified.runs) {
    if (verdict.bad) return fail(error_of(verdict));
  }
  if (verified.gone.empty()) return {};
  return fail(Error{Code::anchor_mismatch,
                    fmt::format("run '{}' is in the anchor, but no longer in the store", verified.gone.front()),
                    {},
                    "restore the run's folder from a backup made after the anchor",
                    0});
}

Error error_of(const RunVerdict& verdict) {
  const BadEntry& bad = *verdict.bad;
  std::string text = fmt::format("run '{}', entry {}", verdict.head.run, bad.entry);
  if (bad.sequence) text += fmt::format(", checkpoint {}", bad.sequence.value);
  return Error{bad.code, text + ": " + bad.what, bad.file, bad.hint, 0, bad.action, {.run = verdict.head.run}};
}

Result<Anchor> collect_anchor(Evidence& evidence, Timestamp now, const VerifyOne& verify) {
  Anchor anchor{.store = {}, .created = now, .runs = {}, .public_key = {}};
  PAWL_TRY_ASSIGN(anchor.store, evidence.store_id());
  PAWL_TRY_ASSIGN(const std::vector<std::string> names, evidence.runs());
  for (const std::string& name : names) {
    const auto id = RunId::parse(name);
    if (!id) continue;
    const Result<RunVerdict> verdict = verify(evidence, *id, nullptr);
    if (!verdict && is_gone_or_missing(verdict.error().code)) continue;  // removed meanwhile
    if (!verdict) return std::unexpected(verdict.error());
    if (verdict->bad) return fail(error_of(*verdict));  // the anchor must not vouch for it
    anchor.runs.push_back(verdict->head);
  }
  return anchor;
}

}  // namespace pawl
