#include "secrets/secret_forms.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace pawl {
namespace {

using Sure = SecretFound::Sure;
using std::string_view_literals::operator""sv;

constexpr std::size_t kValueBytesMax = 256;
constexpr std::size_t kLabelBytesMax = 64;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_token(char c) { return is_alnum(c) || c == '_' || c == '-'; }
constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns whether the character can be part of an assigned value, including base64 and percent signs.
constexpr bool is_value(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte <= ' ' || byte >= 0x7f) return false;
  return "\"'`,;&<>(){}[]|\\"sv.find(c) == std::string_view::npos;
}

constexpr bool is_in_url(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && byte != 0x7f && "/\"'`<>\\"sv.find(c) == std::string_view::npos;
}

enum class Letters : std::uint8_t { upper_digits, alnum, word, token };

constexpr bool is_of(Letters letters, char c) {
  switch (letters) {
    case Letters::upper_digits: return is_upper(c) || is_digit(c);
    case Letters::alnum: return is_alnum(c);
    case Letters::word: return is_alnum(c) || c == '_';
    case Letters::token: return is_token(c);
  }
  return false;
}

/// A token that is recognised by its prefix. Strong ones are recognised within a word, too.
struct Form {
  std::string_view prefix;
  Letters letters;
  std::size_t size_min;  // after the prefix
  std::string_view kind;
  enum class Mark : std::uint8_t {
    strong,
    weak,
    mixed
  } mark;  // mixed: weak, and requires a digit and a capital
           // letter
};

// If one prefix starts with another, the longer one comes first.
constexpr auto kForms = std::to_array<Form>({
    {"AKIA", Letters::upper_digits, 16, "aws-access-key-id", Form::Mark::strong},
    {"ASIA", Letters::upper_digits, 16, "aws-access-key-id", Form::Mark::strong},
    {"AIza", Letters::token, 35, "google-api-key", Form::Mark::weak},
    {"ghp_", Letters::alnum, 36, "github-token", Form::Mark::strong},
    {"gho_", Letters::alnum, 36, "github-token", Form::Mark::strong},
    {"ghu_", Letters::alnum, 36, "github-token", Form::Mark::strong},
    {"ghs_", Letters::alnum, 36, "github-token", Form::Mark::strong},
    {"ghr_", Letters::alnum, 36, "github-token", Form::Mark::strong},
    {"github_pat_", Letters::word, 22, "github-token", Form::Mark::strong},
    {"glpat-", Letters::token, 20, "gitlab-token", Form::Mark::strong},
    {"xoxa-", Letters::token, 10, "slack-token", Form::Mark::strong},
    {"xoxb-", Letters::token, 10, "slack-token", Form::Mark::strong},
    {"xoxp-", Letters::token, 10, "slack-token", Form::Mark::strong},
    {"xoxr-", Letters::token, 10, "slack-token", Form::Mark::strong},
    {"xoxs-", Letters::token, 10, "slack-token", Form::Mark::strong},
    {"sk-ant-", Letters::token, 20, "anthropic-key", Form::Mark::strong},
    {"sk_live_", Letters::alnum, 16, "stripe-key", Form::Mark::strong},
    {"rk_live_", Letters::alnum, 16, "stripe-key", Form::Mark::strong},
    {"sk-", Letters::token, 20, "openai-key", Form::Mark::mixed},
    {"npm_", Letters::alnum, 36, "npm-token", Form::Mark::strong},
    {"pypi-", Letters::token, 40, "pypi-token", Form::Mark::mixed},
    {"hf_", Letters::alnum, 30, "huggingface-token", Form::Mark::mixed},
});

constexpr std::string_view kPemBegin = "-----BEGIN ";
constexpr std::string_view kJwtBegin = "eyJ";

SecretFound more() { return {.sure = Sure::more}; }
SecretFound found(std::size_t begin, std::size_t end, std::string_view kind, SecretRest rest) {
  return {.sure = Sure::yes, .begin = begin, .end = end, .kind = kind, .rest = rest};
}

/// Returns whether a word may begin at `at`: also after an escape of JSON (\n), of a URL (%3D) or of a terminal
/// (ESC[31m).
bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  if (!is_alnum(before) && before != '_') return true;
  if (at >= 2 && text[at - 2] == '\\' && "nrtbf"sv.find(before) != std::string_view::npos) return true;
  if (at >= 3 && text[at - 3] == '%') return true;
  if (!is_letter(before)) return false;
  std::size_t from = at - 1;
  while (from > 0 && at - from < 16 && (is_digit(text[from - 1]) || text[from - 1] == ';')) --from;
  return from >= 2 && text[from - 1] == '[' && text[from - 2] == '\x1b';
}

/// Returns whether `text` starts with `prefix`, as far as the text goes.
Sure begins_with(std::string_view text, std::string_view prefix) {
  if (text.size() >= prefix.size()) return text.starts_with(prefix) ? Sure::yes : Sure::no;
  return prefix.starts_with(text) ? Sure::more : Sure::no;
}

bool is_mixed(std::string_view token) {
  return std::ranges::any_of(token, is_digit) && std::ranges::any_of(token, is_upper);
}

SecretFound find_token(SecretText& where, std::size_t at, const Form& form) {
  const std::string_view text = where.text();
  const Sure begins = begins_with(text.substr(at), form.prefix);
  if (begins == Sure::no) return {};
  if (form.mark != Form::Mark::strong && !begins_word(text, at)) return {};
  if (begins == Sure::more) return where.is_final() ? SecretFound() : more();
  const std::size_t body = at + form.prefix.size();
  std::size_t end = body;
  if (form.letters == Letters::token) {
    end = where.token_end(body);
  } else {
    while (end < text.size() && is_of(form.letters, text[end])) ++end;
  }
  if (end == text.size() && !where.is_final()) return more();
  if (end - body < form.size_min) return {};
  if (form.mark == Form::Mark::mixed && !is_mixed(text.substr(body, std::min<std::size_t>(end - body, kValueBytesMax))))
    return {};
  return found(at, end, form.kind, SecretRest::token);
}

SecretFound find_token(SecretText& where, std::size_t at) {
  for (const Form& form : kForms) {
    if (form.prefix.front() != where.text()[at]) continue;
    const SecretFound result = find_token(where, at, form);
    if (result.sure != Sure::no) return result;
  }
  return {};
}

/// Finds three parts separated by dots. If a token is too long to be held back, two parts are enough.
SecretFound find_jwt(SecretText& where, std::size_t at) {
  constexpr std::size_t kPartBytesMin = 10;
  const std::string_view text = where.text();
  const Sure begins = begins_with(text.substr(at), kJwtBegin);
  if (begins == Sure::no || !begins_word(text, at)) return {};
  if (begins == Sure::more) return where.is_final() ? SecretFound() : more();
  std::size_t from = at;
  for (int part = 1; part <= 3; ++part) {
    const std::size_t end = where.token_end(from);
    const bool cut = end == text.size();
    if (cut && !where.is_final()) return more();
    if (part == 3) return end - from >= kPartBytesMin ? found(at, end, "jwt", SecretRest::token) : SecretFound();
    if (part == 2 && cut && end - from >= kLabelBytesMax && text.substr(from).starts_with(kJwtBegin)) {
      return found(at, end, "jwt", SecretRest::dotted);
    }
    if (cut || text[end] != '.' || end - from < kPartBytesMin) return {};
    from = end + 1;
  }
  return {};
}

SecretFound find_private_key(const SecretText& where, std::size_t at) {
  const std::string_view text = where.text().substr(at);
  const Sure begins = begins_with(text, kPemBegin);
  if (begins == Sure::no) return {};
  std::size_t end = kPemBegin.size();
  while (end < text.size() && end < kLabelBytesMax && (is_upper(text[end]) || is_digit(text[end]) || text[end] == ' '))
    ++end;
  const Sure closes = begins_with(text.substr(std::min(end, text.size())), "-----");
  if (begins == Sure::more || closes == Sure::more) return where.is_final() ? SecretFound() : more();
  const std::string_view label = text.substr(kPemBegin.size(), end - kPemBegin.size());
  if (closes == Sure::no || (!label.ends_with("PRIVATE KEY") && !label.ends_with("PRIVATE KEY BLOCK"))) return {};
  return found(at, at + end + 5, "private-key", SecretRest::private_key);
}

/// Finds the password between `://user:` and `@`.
SecretFound find_url_password(const SecretText& where, std::size_t at) {
  const std::string_view text = where.text();
  const Sure begins = begins_with(text.substr(at), "://");
  if (begins == Sure::no || at == 0 || !is_alnum(text[at - 1])) return {};
  if (begins == Sure::more) return where.is_final() ? SecretFound() : more();
  const std::size_t from = at + 3;
  std::size_t end = from;
  while (end < text.size() && end - from < 2 * kValueBytesMax && is_in_url(text[end])) ++end;
  if (end == text.size() && !where.is_final()) return more();
  const std::string_view authority = text.substr(from, end - from);
  const std::size_t sign = authority.rfind('@');
  const std::size_t colon = authority.find(':');
  if (sign == std::string_view::npos || colon == std::string_view::npos || colon + 1 >= sign) return {};
  if ("${<*["sv.find(authority[colon + 1]) != std::string_view::npos) return {};  // a placeholder
  return found(from + colon + 1, from + sign, "url-password", SecretRest::nothing);
}

/// Returns the letters and digits of the name before `at`, in lower case, without word separators.
std::string name_before(std::string_view text, std::size_t at) {
  std::size_t end = at;
  const std::size_t limit = at - std::min(at, kSecretLookBehind - 1);
  for (int i = 0; end > limit && i < 2 && text[end - 1] == ' '; ++i) --end;
  if (end > limit && (text[end - 1] == '"' || text[end - 1] == '\'')) --end;
  if (end > limit && text[end - 1] == '\\') --end;
  if (end == limit || "detny"sv.find(lower(text[end - 1])) == std::string_view::npos) return {};
  std::string name;
  while (end > limit && name.size() < 32 && (is_token(text[end - 1]) || text[end - 1] == ' ')) {
    if (is_alnum(text[end - 1])) name += lower(text[end - 1]);
    --end;
  }
  std::ranges::reverse(name);
  return name;
}

/// Returns the offset after `=`, `:`, `=>` and the like, spaces and an opening quote.
std::size_t value_begin(std::string_view text, std::size_t at) {
  std::size_t from = at + 1;
  if (from < text.size() && (text[from] == '=' || text[from] == '>')) ++from;
  for (int i = 0; from < text.size() && i < 3 && text[from] == ' '; ++i) ++from;
  if (from < text.size() && text[from] == '\\') ++from;
  if (from < text.size() && (text[from] == '"' || text[from] == '\'')) ++from;
  return from;
}

SecretFound find_authorization(const SecretText& where, std::size_t from) {
  const std::string_view text = where.text();
  for (const std::string_view scheme : {"bearer "sv, "basic "sv, "token "sv}) {
    std::size_t same = 0;
    while (same < scheme.size() && from + same < text.size() && lower(text[from + same]) == scheme[same]) ++same;
    if (same < scheme.size()) {
      if (from + same == text.size() && !where.is_final()) return more();
      continue;
    }
    const std::size_t begin = from + scheme.size();
    std::size_t end = begin;
    while (end < text.size() && end - begin < 8 * kValueBytesMax && is_value(text[end])) ++end;
    if (end == text.size() && !where.is_final()) return more();
    if (end - begin < 8 || "$%*"sv.find(text[begin]) != std::string_view::npos) return {};
    return found(begin, end, "authorization", SecretRest::value);
  }
  return {};
}

bool is_aws_secret(std::string_view name, std::string_view value) {
  if (name.find("aws") == std::string::npos && !name.ends_with("secretaccesskey")) return false;
  return value.size() == 40 &&
         std::ranges::all_of(value, [](char c) { return is_alnum(c) || c == '/' || c == '+' || c == '='; });
}

/// Returns whether the value is the name of a member, such as `config.password_2`, and not a secret.
bool is_member_name(std::string_view value) {
  bool has_dot = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool begins = i == 0 || value[i - 1] == '.';
    if (value[i] == '.') has_dot = true;
    if (value[i] == '.' ? begins
        : begins        ? !is_letter(value[i]) && value[i] != '_'
                        : !is_alnum(value[i]) && value[i] != '_')
      return false;
  }
  return has_dot;
}

/// Returns whether it is long, has letters and a digit, and is not a placeholder.
bool is_credential(std::string_view name, std::string_view value) {
  const std::size_t size_min = name.ends_with("password") || name.ends_with("passwd") ? 8 : 12;
  if (value.size() < size_min || "$%*/.~-"sv.find(value.front()) != std::string_view::npos) return false;
  if (std::ranges::count_if(value, is_letter) < 3 || std::ranges::none_of(value, is_digit)) return false;
  return value.find("://") == std::string_view::npos && !is_member_name(value);
}

SecretFound find_assigned(const SecretText& where, std::size_t at) {
  const std::string_view text = where.text();
  if (at == 0) return {};
  const std::string name = name_before(text, at);
  if (name.empty()) return {};
  constexpr std::array kNames = {"password"sv, "passwd"sv,    "passphrase"sv, "secret"sv,    "token"sv,
                                 "apikey"sv,   "accesskey"sv, "secretkey"sv,  "privatekey"sv};
  const bool authorization = name.ends_with("authorization");
  if (!authorization && std::ranges::none_of(kNames, [&](std::string_view known) { return name.ends_with(known); }))
    return {};
  const std::size_t from = value_begin(text, at);
  if (from >= text.size()) return where.is_final() ? SecretFound() : more();
  if (authorization) return find_authorization(where, from);
  std::size_t end = from;
  while (end < text.size() && end - from < kValueBytesMax && is_value(text[end])) ++end;
  if (end == text.size() && !where.is_final()) return more();
  const std::string_view value = text.substr(from, end - from);
  if (is_aws_secret(name, value)) return found(from, end, "aws-secret-key", SecretRest::nothing);
  const bool is_code = end < text.size() && "([{"sv.find(text[end]) != std::string_view::npos;
  if (is_code || value.empty() || !is_credential(name, value)) return {};
  return found(from, end, "credential", SecretRest::value);
}

constexpr SecretBeginnings make_beginnings() {
  SecretBeginnings made;
  for (const Form& form : kForms) made.add(form.prefix[0], form.prefix[1]);
  for (const std::string_view prefix : {kPemBegin, kJwtBegin}) made.add(prefix[0], prefix[1]);
  for (const char c : {':', '='}) made.add(c);
  return made;
}
constexpr SecretBeginnings kBeginnings = make_beginnings();

}  // namespace

bool belongs_to(SecretRest rest, char c) {
  switch (rest) {
    case SecretRest::token: return is_token(c);
    case SecretRest::dotted: return is_token(c) || c == '.';
    case SecretRest::value: return is_value(c);
    case SecretRest::nothing:
    case SecretRest::private_key: break;
  }
  return false;
}

std::size_t SecretText::token_end(std::size_t at) {
  if (at >= run_begin_ && at < run_end_) return run_end_;
  std::size_t end = at;
  while (end < text_.size() && is_token(text_[end])) ++end;
  run_begin_ = at;
  run_end_ = end;
  return end;
}

const SecretBeginnings& known_secret_beginnings() { return kBeginnings; }

SecretFound find_known_secret(SecretText& text, std::size_t at) {
  switch (text.text()[at]) {
    case '=': return find_assigned(text, at);
    case ':':
      if (const SecretFound url = find_url_password(text, at); url.sure != Sure::no) return url;
      return find_assigned(text, at);
    case '-': return find_private_key(text, at);
    case 'e': return find_jwt(text, at);
    default: return find_token(text, at);
  }
}

}  // namespace pawl
