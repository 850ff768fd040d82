#include <pawl/types.hpp>

#include <algorithm>
#include <charconv>
#include <pawl/save.hpp>
#include <span>

#include "base/assert.hpp"
#include "base/result.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::size_t kRunIdBytesMax = 128;
constexpr std::size_t kShownBytesMax = 60;

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_decimal_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool is_run_id_character(char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; }

/// Describes the character at the start of `text`, safe for a terminal.
std::string show_character(std::string_view text) {
  const CodePoint point = first_code_point(text);
  if (point.size == 0) return fmt::format("byte \\x{:02x}", static_cast<unsigned char>(text[0]));
  if (point.value < 0x20 || point.value == 0x7F) return fmt::format("control character \\x{:02x}", point.value);
  if (point.value >= 0x80) return fmt::format("character U+{:04X}", point.value);
  return point.value == ' ' ? std::string("a space") : fmt::format("character '{}'", text[0]);
}

/// Returns the text in quotes, shortened, with everything but printable ASCII escaped.
std::string show_text(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, kShownBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", byte);
    }
  }
  return shown + (text.size() > kShownBytesMax ? "...'" : "'");
}

std::unexpected<Error> refuse_run_id(std::string message) {
  return fail(Error{Code::invalid_run_id,
                    std::move(message),
                    {},
                    "use a letter or digit, then letters, digits, '.', '_' or '-', for "
                    "example nightly-2026.01; at most 128 characters",
                    0});
}

}  // namespace

Result<RunId> RunId::parse(std::string_view text) {
  if (text.empty()) return refuse_run_id("the run id is empty");
  if (text == "." || text == "..")
    return refuse_run_id(fmt::format("'{}' is the name of a folder, not a run id", text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i >= kRunIdBytesMax) break;
    const bool allowed = i == 0 ? is_alphanumeric(text[i]) : is_run_id_character(text[i]);
    if (allowed) continue;
    const std::string what = show_character(text.substr(i));
    if (i == 0) return refuse_run_id(fmt::format("the run id {} can't begin with {}", show_text(text), what));
    return refuse_run_id(fmt::format("the run id {} has {} at position {}", show_text(text), what, i + 1));
  }
  if (text.size() > kRunIdBytesMax) {
    return refuse_run_id(fmt::format("the run id {} has {} characters; the maximum is {}", show_text(text), text.size(),
                                     kRunIdBytesMax));
  }
  return RunId(std::string(text));
}

// --- Uuid -------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kUuidTextBytes = 36;
constexpr bool is_uuid_dash(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

std::optional<unsigned> hex_value(char c) {
  if (is_decimal_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

}  // namespace

std::string Uuid::text() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(kUuidTextBytes);
  for (const std::uint8_t byte : bytes) {
    if (is_uuid_dash(text.size())) text += '-';
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kUuidTextBytes) return std::nullopt;
  Uuid uuid;
  std::size_t nibbles = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_uuid_dash(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const std::optional<unsigned> value = hex_value(text[i]);
    if (!value) return std::nullopt;
    std::uint8_t& byte = uuid.bytes[nibbles / 2];
    byte = static_cast<std::uint8_t>(byte * 16U + *value);
    ++nibbles;
  }
  return uuid;
}

// --- Timestamp --------------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;
constexpr std::int64_t kUsPerDay = 86'400 * kUsPerSecond;
constexpr std::int64_t kDaysPer400Years = 146'097;
constexpr std::int64_t kDaysToEpoch = 719'468;  // from 0000-03-01 to 1970-01-01

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

struct Date {
  std::int64_t year;
  std::int64_t month;
  std::int64_t day;
};

// Both count years from March, so that the leap day comes last and months have regular lengths: month m (0: March)
// starts on day (153 m + 2) / 5 of its year.
constexpr std::int64_t days_since_epoch(Date date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t month = (date.month + 9) % 12;
  const std::int64_t leap_days = floor_div(year, 4) - floor_div(year, 100) + floor_div(year, 400);
  return 365 * year + leap_days + (153 * month + 2) / 5 + date.day - 1 - kDaysToEpoch;
}

constexpr Date date_of(std::int64_t days) {
  const std::int64_t cycle = floor_div(days + kDaysToEpoch, kDaysPer400Years);
  std::int64_t rest = days + kDaysToEpoch - cycle * kDaysPer400Years;
  const std::int64_t century = std::min<std::int64_t>(rest / 36'524, 3);  // the fourth century is a day longer
  rest -= century * 36'524;
  const std::int64_t leap_cycle = rest / 1'461;
  rest -= leap_cycle * 1'461;
  const std::int64_t year = std::min<std::int64_t>(rest / 365, 3);  // so is the fourth year
  rest -= year * 365;
  const std::int64_t month = (5 * rest + 2) / 153;
  const std::int64_t month_from_january = month < 10 ? month + 3 : month - 9;
  return {400 * cycle + 100 * century + 4 * leap_cycle + year + (month_from_january <= 2 ? 1 : 0), month_from_january,
          rest - (153 * month + 2) / 5 + 1};
}

constexpr std::int64_t days_in_month(std::int64_t year, std::int64_t month) {
  const Date next = month == 12 ? Date{year + 1, 1, 1} : Date{year, month + 1, 1};
  return days_since_epoch(next) - days_since_epoch({year, month, 1});
}

static_assert(days_since_epoch({1970, 1, 1}) == 0 && days_since_epoch({2000, 3, 1}) == 11'017);
static_assert(days_in_month(2000, 2) == 29 && days_in_month(1900, 2) == 28);

/// Takes digits and fixed characters from the start of a text. After a mismatch everything fails.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}
  std::int64_t number(std::size_t digits) {
    std::int64_t value = 0;
    if (rest_.size() < digits) return stop();
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_decimal_digit(rest_[i])) return stop();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }
  void expect(char c) {
    if (!take(c)) stop();
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Returns the digits after a decimal point (one to six) as microseconds.
  std::int64_t fraction_us() {
    std::size_t digits = 0;
    while (digits < rest_.size() && is_decimal_digit(rest_[digits])) ++digits;
    if (digits == 0 || digits > 6) return stop();
    std::int64_t us = number(digits);
    for (; digits < 6; ++digits) us *= 10;
    return us;
  }
  [[nodiscard]] bool done() const { return ok_ && rest_.empty(); }

 private:
  std::int64_t stop() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

namespace {

/// Writes the last `digits` digits of `value`, with leading zeros. Much faster than a format string, and every record
/// contains a time.
char* put_digits(char* to, std::int64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + digits;
}

char* put_date(char* to, const Date& date) {
  to = put_digits(to, date.year, 4);
  *to++ = '-';
  to = put_digits(to, date.month, 2);
  *to++ = '-';
  return put_digits(to, date.day, 2);
}

constexpr std::int64_t kPlainYearMax = 9999;

}  // namespace

std::string Timestamp::text() const {
  const Date date = date_of(floor_div(us, kUsPerDay));
  const std::int64_t in_day = us % kUsPerDay + (us % kUsPerDay < 0 ? kUsPerDay : 0);
  const std::int64_t seconds = in_day / kUsPerSecond;
  if (date.year < 0 || date.year > kPlainYearMax)
    return fmt::format("{}T{:02}:{:02}:{:02}.{:06}Z", day(), seconds / 3600, seconds / 60 % 60, seconds % 60,
                       in_day % kUsPerSecond);
  std::string text(27, '\0');
  char* to = put_date(text.data(), date);
  *to++ = 'T';
  to = put_digits(to, seconds / 3600, 2);
  *to++ = ':';
  to = put_digits(to, seconds / 60 % 60, 2);
  *to++ = ':';
  to = put_digits(to, seconds % 60, 2);
  *to++ = '.';
  to = put_digits(to, in_day % kUsPerSecond, 6);
  *to = 'Z';
  return text;
}

std::string Timestamp::day() const {
  const Date date = date_of(floor_div(us, kUsPerDay));
  return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

std::optional<Timestamp> Timestamp::parse(std::string_view text) {
  Scan scan(text);
  Date date{};
  date.year = scan.number(4);
  scan.expect('-');
  date.month = scan.number(2);
  scan.expect('-');
  date.day = scan.number(2);
  scan.expect('T');
  const std::int64_t hour = scan.number(2);
  scan.expect(':');
  const std::int64_t minute = scan.number(2);
  scan.expect(':');
  const std::int64_t second = scan.number(2);
  const std::int64_t fraction_us = scan.take('.') ? scan.fraction_us() : 0;
  scan.expect('Z');
  if (!scan.done() || date.month < 1 || date.month > 12 || date.day < 1) return std::nullopt;
  if (date.day > days_in_month(date.year, date.month) || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t seconds = (hour * 60 + minute) * 60 + second;
  return Timestamp{days_since_epoch(date) * kUsPerDay + seconds * kUsPerSecond + fraction_us};
}

// --- Words ------------------------------------------------------------------------------------------------

namespace {

/// A row of a table that is used in both directions. The first row of a value contains its text; the others are
/// additional names that are accepted.
template <class T>
struct Word {
  T value;
  std::string_view text;
};

constexpr Word<Kind> kKinds[] = {
    {Kind::manual, "manual"},
    {Kind::workflow_start, "workflow_start"},
    {Kind::stage_start, "stage_start"},
    {Kind::stage_complete, "stage_complete"},
    {Kind::step_start, "step_start"},
    {Kind::step_complete, "step_complete"},
    {Kind::barrier, "barrier"},
    {Kind::error, "error"},
    {Kind::interrupted, "interrupted"},
    {Kind::waiting, "waiting"},
    {Kind::workflow_complete, "workflow_complete"},
    // Words of the import format `orchestration`.
    {Kind::step_start, "agent_start"},
    {Kind::step_complete, "agent_complete"},
    {Kind::barrier, "sync_barrier"},
    {Kind::error, "error_state"},
    // Words of the import format `phases`.
    {Kind::stage_start, "phase_start"},
    {Kind::stage_complete, "phase_complete"},
    {Kind::stage_complete, "phase_completed"},
    {Kind::step_complete, "specialist_finished"},
    {Kind::error, "error_encountered"},
    {Kind::manual, "user_requested"},
    // Words of the import format `sessions`.
    {Kind::step_start, "before_step"},
    {Kind::step_complete, "after_step"},
    {Kind::error, "step_failed"},
    {Kind::step_start, "BeforeStep"},
    {Kind::step_complete, "Completed"},
    {Kind::error, "Failed"},
    {Kind::interrupted, "Interrupted"},
    // Other tenses of the same words
    {Kind::workflow_start, "workflow_started"},
    {Kind::stage_start, "stage_started"},
    {Kind::stage_complete, "stage_completed"},
    {Kind::step_start, "step_started"},
    {Kind::step_complete, "step_completed"},
    {Kind::step_complete, "agent_completed"},
    {Kind::workflow_complete, "workflow_completed"},
};

constexpr Word<Status> kStatuses[] = {
    {Status::active, "active"},         {Status::completed, "completed"}, {Status::failed, "failed"},
    {Status::recovering, "recovering"}, {Status::erased, "erased"},       {Status::damaged, "damaged"},
    {Status::active, "in_progress"},    {Status::active, "running"},      {Status::active, "launched"},
    {Status::completed, "complete"},
};

constexpr Word<Reason> kReasons[] = {
    {Reason::manual, "manual"},
    {Reason::before_step, "before_step"},
    {Reason::after_step, "after_step"},
    {Reason::step_failed, "step_failed"},
    {Reason::signal, "signal"},
    {Reason::time_interval, "time_interval"},
    {Reason::stage_completed, "stage_completed"},
    {Reason::evaluation_completed, "evaluation_completed"},
    {Reason::confidence_crossed, "confidence_crossed"},
    {Reason::memory_pressure, "memory_pressure"},
    {Reason::breakpoint, "breakpoint"},
    {Reason::before_risky_step, "before_risky_step"},
    {Reason::barrier, "barrier"},
    {Reason::workflow_started, "workflow_started"},
    {Reason::workflow_completed, "workflow_completed"},
    // Words of the import format `orchestration`.
    {Reason::before_step, "agent_start"},
    {Reason::after_step, "agent_complete"},
    {Reason::barrier, "sync_barrier"},
    {Reason::step_failed, "error_state"},
    {Reason::stage_completed, "stage_complete"},
    {Reason::workflow_started, "workflow_start"},
    {Reason::workflow_completed, "workflow_complete"},
    // Words of the import format `phases`.
    {Reason::stage_completed, "phase_complete"},
    {Reason::stage_completed, "phase_completed"},
    {Reason::after_step, "specialist_finished"},
    {Reason::confidence_crossed, "confidence_threshold_crossed"},
    {Reason::step_failed, "error_encountered"},
    {Reason::memory_pressure, "memory_pressure_high"},
    {Reason::manual, "user_requested"},
    {Reason::breakpoint, "debug_breakpoint"},
    {Reason::before_risky_step, "before_risky_operation"},
    // Words of the import format `sessions`.
    {Reason::before_step, "BeforeStep"},
    {Reason::after_step, "AfterStep"},
    {Reason::step_failed, "StepFailed"},
    {Reason::signal, "Signal"},
    {Reason::time_interval, "TimeInterval"},
    {Reason::manual, "Manual"},
};

constexpr Word<Durability> kDurabilities[] = {
    {Durability::sync, "sync"},
    {Durability::async, "async"},
    {Durability::exit, "exit"},
};

/// The canonical rows come first, in the order of the enum, so that a value is its own row number.
template <class T>
consteval bool in_order(std::span<const Word<T>> words, T last) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
    if (words[i].value != static_cast<T>(i)) return false;
  }
  return true;
}
static_assert(in_order<Kind>(kKinds, Kind::workflow_complete));
static_assert(in_order<Status>(kStatuses, Status::damaged));
static_assert(in_order<Reason>(kReasons, Reason::workflow_completed));
static_assert(in_order<Durability>(kDurabilities, Durability::exit));

template <class T>
std::string_view text_of(std::span<const Word<T>> words, T value) {
  PAWL_ASSERT(static_cast<std::size_t>(value) < words.size());
  return words[static_cast<std::size_t>(value)].text;
}

template <class T>
std::optional<T> find_word(std::span<const Word<T>> words, std::string_view text) {
  for (const Word<T>& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_text(Kind kind) { return text_of<Kind>(kKinds, kind); }
std::string_view to_text(Status status) { return text_of<Status>(kStatuses, status); }
std::string_view to_text(Reason reason) { return text_of<Reason>(kReasons, reason); }
std::string_view to_text(Durability durability) { return text_of<Durability>(kDurabilities, durability); }

std::optional<Kind> parse_kind(std::string_view text) { return find_word<Kind>(kKinds, text); }
std::optional<Status> parse_status(std::string_view text) {
  const auto status = find_word<Status>(kStatuses, text);
  return status == Status::erased || status == Status::damaged ? std::nullopt : status;
}
std::optional<Reason> parse_reason(std::string_view text) { return find_word<Reason>(kReasons, text); }
std::optional<Durability> parse_durability(std::string_view text) { return find_word<Durability>(kDurabilities, text); }

// --- Address ----------------------------------------------------------------------------------------------

namespace {

std::unexpected<Error> refuse_address(std::string_view text, std::string message, std::string hint = {}) {
  if (hint.empty()) {
    hint = "use RUN, RUN@SEQ, RUN@latest, RUN@name:X, RUN@stage:X, RUN@step:X or RUN@UUID, for example nightly@42";
  }
  return fail(Error{Code::invalid_address, fmt::format("{} {}", show_text(text), message), {}, std::move(hint), 0});
}

Result<Which> parse_sequence(std::string_view address, std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{}) return refuse_address(address, "has a sequence number that is too large");
  PAWL_ASSERT(end == digits.data() + digits.size());
  if (value == 0) return refuse_address(address, "has sequence number 0; the first checkpoint is 1");
  return Which{Which::By::sequence, Sequence{value}, {}, {}};
}

Result<Which> parse_which(std::string_view address, std::string_view text) {
  struct Prefix {
    std::string_view text;
    Which::By by;
  };
  constexpr Prefix kPrefixes[] = {{"name:", Which::By::name}, {"stage:", Which::By::stage}, {"step:", Which::By::step}};

  if (text.empty()) return refuse_address(address, "has nothing after '@'");
  if (text == "latest") return Which{};
  if (std::all_of(text.begin(), text.end(), is_decimal_digit)) return parse_sequence(address, text);
  for (const Prefix& prefix : kPrefixes) {
    if (!text.starts_with(prefix.text)) continue;
    const std::string_view label = text.substr(prefix.text.size());
    if (label.empty()) return refuse_address(address, fmt::format("has nothing after '{}'", prefix.text));
    return Which{prefix.by, {}, std::string(label), {}};
  }
  if (const std::optional<Uuid> uuid = Uuid::parse(text)) return Which{Which::By::uuid, {}, {}, *uuid};
  const std::string_view run = address.substr(0, address.find('@'));
  return refuse_address(address, fmt::format("has {} after '@', which is not a checkpoint", show_text(text)),
                        fmt::format("for the checkpoint with that name use {}@name:{}; other forms: RUN@SEQ, "
                                    "RUN@latest, RUN@stage:X, RUN@step:X and RUN@UUID",
                                    run, show_text(text)));
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  if (text.empty()) return refuse_address(text, "is an empty address");
  const std::size_t at = text.find('@');
  if (at == 0) return refuse_address(text, "has no run before '@'");
  PAWL_TRY_ASSIGN(RunId run, RunId::parse(text.substr(0, at)));
  Address address{std::move(run), {}};
  if (at != std::string_view::npos) {
    PAWL_TRY_ASSIGN(address.which, parse_which(text, text.substr(at + 1)));
  }
  return address;
}

}  // namespace pawl
