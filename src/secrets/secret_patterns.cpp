#include "secrets/secret_patterns.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "secrets/user_pattern.hpp"

namespace pawl {
namespace {

using End = SecretText::End;

constexpr std::string_view kDeclared = "declared";
constexpr std::string_view kExpression = "pattern";
constexpr std::string_view kKeyEnd = "-----END ";
constexpr std::size_t kKeyLabelBytesMax = 64;
constexpr std::size_t kKeyRunBytesMin = 32;  // minimum length of base64 in a line with other words
constexpr std::size_t kKeyWordsMax = 8;
constexpr int kBadKeyLinesMax = 3;
constexpr std::size_t kExpressionOverlapBytes = 1024;

/// Returns whether other kinds describe the secret better.
bool is_vague(std::string_view kind) { return kind == "credential" || kind == "authorization"; }

bool is_base64(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '=';
}

}  // namespace

Result<std::shared_ptr<const SecretPatterns>> SecretPatterns::make(const SecretSettings& settings,
                                                                   std::vector<std::string> values) {
  std::shared_ptr<SecretPatterns> made(new SecretPatterns());
  made->known_forms_ = settings.mask_patterns;
  if (settings.mask_patterns) made->beginnings_ = known_secret_beginnings();
  for (const std::string& expression : settings.patterns) {
    PAWL_TRY_ASSIGN(std::shared_ptr<const re2::RE2> ready, compile_pattern(expression));
    made->expressions_.push_back(std::move(ready));
  }
  std::erase_if(values, [](const std::string& value) { return value.empty(); });
  std::ranges::sort(values, std::ranges::greater(), &std::string::size);
  for (const std::string& value : values) {
    if (value.size() == 1) {
      made->beginnings_.add(value[0]);
    } else {
      made->beginnings_.add(value[0], value[1]);
    }
  }
  made->values_ = std::move(values);
  return made;
}

bool SecretPatterns::may_hold(std::string_view text) const {
  if (!expressions_.empty()) return !text.empty();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (may_begin(text, at)) return true;
  }
  return false;
}

SecretFound SecretPatterns::find(SecretText& text, std::size_t at) const {
  SecretFound best;
  const std::string_view rest = text.text().substr(at);
  for (const std::string& value : values_) {
    if (rest.starts_with(value)) {
      best = {.sure = SecretFound::Sure::yes, .begin = at, .end = at + value.size(), .kind = kDeclared};
      break;
    }
    if (!text.is_final() && rest.size() < value.size() && std::string_view(value).starts_with(rest))
      return {.sure = SecretFound::Sure::more};
  }
  if (!known_forms_) return best;
  const SecretFound known = find_known_secret(text, at);
  if (known.sure == SecretFound::Sure::more || best.sure == SecretFound::Sure::no) return known;
  return known.sure == SecretFound::Sure::yes && known.end > best.end ? known : best;
}

void SecretMask::add(std::string_view text, std::string& out) {
  if (patterns_->empty()) {
    out += text;
    return;
  }
  text_ += text;
  scan(End::open, out);
}

void SecretMask::settle(std::string& out) {
  if (!patterns_->expressions_.empty()) filter_lines(End::final, out);
}

void SecretMask::finish(std::string& out) {
  if (!patterns_->empty()) scan(End::final, out);
  settle(out);
}

std::size_t SecretMask::next_candidate(std::size_t at) const {
  const std::size_t size = text_.size();
  const char* text = text_.data();
  for (; at + 1 < size; ++at) {
    if (patterns_->beginnings_.has(text[at], text[at + 1])) return at;
  }
  return at < size && !patterns_->beginnings_.has(text[at]) ? size : at;
}

void SecretMask::scan(End end, std::string& out) {
  const bool in_lines = !patterns_->expressions_.empty();
  std::string& to = in_lines ? lines_ : out;
  SecretText where(text_, end);
  std::size_t at = done_;
  std::size_t kept = at;  // start of the text that is not secret
  while (at < text_.size()) {
    if (rest_ != SecretRest::nothing) {
      kept = at = skip_rest(where, at);
      if (rest_ != SecretRest::nothing) break;
      continue;
    }
    at = next_candidate(at);
    if (at == text_.size()) break;
    Looked looked = look(where, at);
    if (looked == Looked::more) {
      if (text_.size() - at <= kSecretHoldBytes) break;
      SecretText as_it_is(text_, End::final);
      looked = look(as_it_is, at);
    }
    if (looked == Looked::nothing) {
      ++at;
      continue;
    }
    for (const Range& range : ranges_) {
      to.append(text_, kept, range.begin - kept);
      mark(range.kind, to);
      kept = at = range.end;
      const bool goes_on = range.rest == SecretRest::private_key || (end == End::open && range.end == text_.size());
      rest_ = goes_on ? range.rest : SecretRest::nothing;
      if (rest_ == SecretRest::private_key) key_line_ = {}, bad_key_lines_ = 0;
    }
  }
  to.append(text_, kept, at - kept);
  const std::size_t behind = std::min(at, kSecretLookBehind);
  text_.erase(0, at - behind);
  done_ = behind;
  if (in_lines) filter_lines(End::open, out);
}

/// Collects the secrets at `at` and those that overlap them in ranges_.
SecretMask::Looked SecretMask::look(SecretText& where, std::size_t at) {
  ranges_.clear();
  std::size_t until = at + 1;
  for (std::size_t i = at; i < until; ++i) {
    if (i > at && !patterns_->may_begin(where.text(), i)) continue;
    const SecretFound found = patterns_->find(where, i);
    if (found.sure == SecretFound::Sure::more) return Looked::more;
    if (found.sure == SecretFound::Sure::no) continue;
    ranges_.push_back({found.begin, found.end, found.kind, found.rest});
    until = std::max(until, found.end);
  }
  if (ranges_.empty()) return Looked::nothing;
  std::ranges::sort(ranges_, {}, [](const Range& range) { return std::pair(range.begin, range.end); });
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    Range& whole = ranges_[last];
    const Range& next = ranges_[i];
    if (next.begin >= whole.end) {
      ranges_[++last] = next;
      continue;
    }
    if (is_vague(whole.kind) && !is_vague(next.kind)) whole.kind = next.kind;
    if (next.end >= whole.end) {
      whole.rest = next.end > whole.end || whole.rest == SecretRest::nothing ? next.rest : whole.rest;
      whole.end = next.end;
    }
  }
  ranges_.resize(last + 1);
  return Looked::found;
}

std::size_t SecretMask::skip_rest(const SecretText& where, std::size_t at) {
  if (rest_ == SecretRest::private_key) return skip_key(where, at);
  while (at < text_.size() && belongs_to(rest_, text_[at])) ++at;
  if (at < text_.size() || where.is_final()) rest_ = SecretRest::nothing;
  return at;
}

/// Skips to the END line, however far it is. If the text stops looking like a key, it was not a key.
std::size_t SecretMask::skip_key(const SecretText& where, std::size_t at) {
  const std::string_view text = where.text();
  for (; at < text.size(); ++at) {
    if (text[at] == '-' && text.substr(at, kKeyEnd.size()) == kKeyEnd.substr(0, text.size() - at)) {
      const std::size_t close = text.find("-----", at + 5);
      if (close != std::string_view::npos && close - at <= kKeyLabelBytesMax) {
        rest_ = SecretRest::nothing;
        return close + 5;
      }
      if (close == std::string_view::npos && text.size() - at < kKeyLabelBytesMax + 5 && !where.is_final()) return at;
    }
    if (!is_in_key(text[at], at > 0 ? text[at - 1] : '\n')) {
      rest_ = SecretRest::nothing;
      return at;
    }
  }
  return at;
}

/// Updates the state of the line. Returns false if too many lines belong to another text.
bool SecretMask::is_in_key(char c, char before) {
  KeyLine& line = key_line_;
  const bool escaped_end = before == '\\' && (c == 'n' || c == 'r');  // as in JSON
  if (c == '\n' || escaped_end) {
    if (line.words > 1 && line.longest_run < kKeyRunBytesMin && !line.has_colon) ++bad_key_lines_;
    line = {};
    return bad_key_lines_ < kBadKeyLinesMax;
  }
  if (c == ':') line.has_colon = true;
  const bool in_word = c != ' ' && c != '\t' && c != '\r';
  const bool begins = in_word && (before == ' ' || before == '\t' || before == '\n' || line.words == 0);
  if (begins) ++line.words;
  line.run = is_base64(c) ? line.run + 1 : 0;
  line.longest_run = std::max(line.longest_run, line.run);
  return line.words <= kKeyWordsMax || line.longest_run >= kKeyRunBytesMin;
}

void SecretMask::mark(std::string_view kind, std::string& out) {
  const auto found = counts_.find(kind);
  if (found == counts_.end()) {
    counts_.emplace(kind, 1);
  } else {
    ++found->second;
  }
  if (kind == kDeclared) {
    out += "***";
  } else {
    out += fmt::format("[masked:{}]", kind);
  }
}

/// Filters whole lines; longer lines are filtered in overlapping pieces.
void SecretMask::filter_lines(End end, std::string& out) {
  std::size_t at = 0;
  while (at < lines_.size()) {
    const std::string_view rest = std::string_view(lines_).substr(at);
    const std::size_t newline = rest.find('\n');
    if (newline != std::string_view::npos && newline < kExpressionBytesMax) {
      static_cast<void>(filter_line(rest.substr(0, newline), 0, out));
      out += '\n';
      at += newline + 1;
    } else if (rest.size() >= kExpressionBytesMax) {
      at += filter_line(rest.substr(0, kExpressionBytesMax), kExpressionOverlapBytes, out);
    } else if (end == End::final) {
      at += filter_line(rest, 0, out);
    } else {
      break;
    }
  }
  lines_.erase(0, at);
}

/// Returns how much of the line was passed on. A possible beginning of a match in the last `keep` bytes is held back.
std::size_t SecretMask::filter_line(std::string_view line, std::size_t keep, std::string& out) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const re2::StringPiece text(line.data(), line.size());
  for (const std::shared_ptr<const re2::RE2>& expression : patterns_->expressions_) {
    re2::StringPiece match;
    for (std::size_t from = 0;
         from <= line.size() && expression->Match(text, from, line.size(), re2::RE2::UNANCHORED, &match, 1);) {
      const auto begin = static_cast<std::size_t>(match.data() - text.data());
      if (!match.empty()) found.emplace_back(begin, begin + match.size());
      from = begin + std::max<std::size_t>(match.size(), 1);
    }
  }
  std::ranges::sort(found);
  const std::size_t limit = line.size() - keep;
  std::size_t at = 0;
  std::size_t masked_until = 0;
  for (const auto& [begin, end] : found) {
    if (begin >= limit && keep > 0) break;
    if (begin >= masked_until) {
      out += line.substr(at, begin - at);
      mark(kExpression, out);
    }
    masked_until = std::max(masked_until, end);
    at = masked_until;
  }
  const std::size_t end = std::max(at, limit);
  out += line.substr(at, end - at);
  return end;
}

std::string mask_secrets(std::string_view text, const std::shared_ptr<const SecretPatterns>& patterns,
                         MaskCounts& counts) {
  if (!patterns->may_hold(text)) return std::string(text);
  SecretMask mask(patterns);
  std::string out;
  mask.add(text, out);
  mask.finish(out);
  for (const auto& [kind, count] : mask.counts()) counts[kind] += count;
  return out;
}

}  // namespace pawl
