#include "importers/sql_rows.hpp"

#include <algorithm>

namespace pawl {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '+' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

struct Token {
  enum class Kind : std::uint8_t { end, word, name, text, symbol, broken };
  Kind kind = Kind::end;
  std::string text;  // a word as written; a name or text without its quotes; a symbol's character
  std::uint64_t line = 0;
  [[nodiscard]] bool is(std::string_view word) const { return kind == Kind::word && lower(text) == word; }
  [[nodiscard]] bool is_symbol(char c) const { return kind == Kind::symbol && text[0] == c; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip_space();
    Token token{.kind = Token::Kind::end, .text = {}, .line = line_};
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (c == '\'') return quoted(token, '\'', Token::Kind::text);
    if (c == '"') return quoted(token, '"', Token::Kind::name);
    if ((c == 'E' || c == 'e') && at_ + 1 < text_.size() && text_[at_ + 1] == '\'') return escaped(token);
    if (c == '$') return dollar(token);
    if (is_word(c)) {
      token.kind = Token::Kind::word;
      while (at_ < text_.size() && is_word(text_[at_])) token.text += text_[at_++];
      return token;
    }
    token.kind = Token::Kind::symbol;
    token.text = std::string(1, c);
    ++at_;
    return token;
  }

  /// Moves past the next line break and returns the line without it.
  std::optional<std::string_view> raw_line() {
    if (at_ >= text_.size()) return std::nullopt;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  [[nodiscard]] std::uint64_t line() const { return line_; }

 private:
  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        step();
      } else if (text_.substr(at_).starts_with("--")) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.substr(at_).starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        const std::size_t stop = end == std::string_view::npos ? text_.size() : end + 2;
        while (at_ < stop) step();
      } else {
        return;
      }
    }
  }
  Token quoted(Token token, char quote, Token::Kind kind) {
    ++at_;
    while (at_ < text_.size()) {
      if (text_[at_] == quote) {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != quote) {
          token.kind = kind;
          return token;
        }
      }
      token.text += text_[at_];
      step();
    }
    token.kind = Token::Kind::broken;
    return token;
  }
  /// E'...', with backslash escapes.
  Token escaped(Token token) {
    at_ += 2;
    while (at_ < text_.size()) {
      char c = text_[at_];
      step();
      if (c == '\'' && (at_ >= text_.size() || text_[at_] != '\'')) {
        token.kind = Token::Kind::text;
        return token;
      }
      if (c == '\'') ++at_;
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_];
        step();
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
      }
      token.text += c;
    }
    token.kind = Token::Kind::broken;
    return token;
  }
  /// $$...$$ and $tag$...$tag$.
  Token dollar(Token token) {
    const std::size_t close = text_.find('$', at_ + 1);
    const std::string_view tag =
        close == std::string_view::npos ? std::string_view() : text_.substr(at_, close + 1 - at_);
    const bool is_tag = !tag.empty() && std::ranges::all_of(tag.substr(1, tag.size() - 2), is_word);
    const std::size_t end = is_tag ? text_.find(tag, close + 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      token.kind = Token::Kind::broken;
      at_ = text_.size();
      return token;
    }
    token.kind = Token::Kind::text;
    token.text = std::string(text_.substr(close + 1, end - close - 1));
    while (at_ < end + tag.size()) step();
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

class Dump {
 public:
  Dump(std::string_view text, std::string_view table, const std::vector<std::string>& columns)
      : lexer_(text), table_(table), columns_(columns) {}

  std::vector<SqlRow> rows() {
    advance();
    while (token_.kind != Token::Kind::end) {
      if (token_.is("insert")) {
        insert();
      } else if (token_.is("copy")) {
        copy();
      }
      skip_statement();
    }
    return std::move(rows_);
  }

 private:
  void advance() { token_ = lexer_.next(); }
  void skip_statement() {
    while (token_.kind != Token::Kind::end && !token_.is_symbol(';')) advance();
    if (token_.kind != Token::Kind::end) advance();
  }
  void broken(std::uint64_t line, std::string why) {
    rows_.push_back({.line = line, .values = {}, .fault = std::move(why)});
  }

  /// `public.x`, `"public"."x"`, `x`.
  bool is_table() {
    std::string name;  // with its schema; a dot is part of a word
    while (token_.kind == Token::Kind::word || token_.kind == Token::Kind::name) {
      if (!name.empty() && !name.ends_with('.') && !token_.text.starts_with('.')) break;
      name += token_.text;
      advance();
    }
    return lower(name.substr(name.rfind('.') + 1)) == table_;  // without a dot: the whole name
  }

  std::optional<std::vector<std::string>> column_list() {
    if (!token_.is_symbol('(')) return columns_;
    std::vector<std::string> names;
    for (advance(); !token_.is_symbol(')'); advance()) {
      if (token_.is_symbol(',')) continue;
      if (token_.kind != Token::Kind::word && token_.kind != Token::Kind::name) return std::nullopt;
      names.push_back(lower(token_.text));
    }
    advance();
    return names;
  }

  void insert() {
    const std::uint64_t line = token_.line;
    advance();
    if (!token_.is("into")) return;
    advance();
    if (!is_table()) return;
    const auto columns = column_list();
    while (columns && token_.kind != Token::Kind::end && !token_.is("values") && !token_.is_symbol(';')) advance();
    if (!columns || !token_.is("values")) return broken(line, "the statement can't be read");
    advance();
    while (token_.is_symbol('(')) {
      if (!insert_row(*columns)) return;
      if (token_.is_symbol(',')) advance();
    }
  }

  /// Returns false if the rest of the statement can't be read either.
  bool insert_row(const std::vector<std::string>& columns) {
    SqlRow row{.line = token_.line, .values = {}, .fault = {}};
    std::size_t index = 0;
    advance();
    while (!token_.is_symbol(')')) {
      if (token_.kind == Token::Kind::end || token_.kind == Token::Kind::broken) {
        broken(row.line, "the row is incomplete");
        return false;
      }
      std::optional<std::string> value;
      if (token_.kind == Token::Kind::text ||
          (token_.kind == Token::Kind::word && !token_.is("null") && !token_.is("default")))
        value = token_.text;
      if (index < columns.size()) row.values[columns[index]] = value;
      ++index;
      // A cast, `::jsonb` and such, belongs to the value.
      for (advance(); !token_.is_symbol(',') && !token_.is_symbol(')') && token_.kind != Token::Kind::end; advance()) {
      }
      if (token_.is_symbol(',')) advance();
    }
    advance();
    if (index != columns.size()) row.fault = fmt::format("{} values for {} columns", index, columns.size());
    rows_.push_back(std::move(row));
    return true;
  }

  void copy() {
    advance();
    const bool wanted = is_table();  // the data of other tables is not SQL either
    const auto columns = column_list();
    bool has_data = false;  // otherwise it names a file
    for (; token_.kind != Token::Kind::end && !token_.is_symbol(';'); advance())
      has_data = has_data || token_.is("stdin");
    if (!has_data) return;
    static_cast<void>(lexer_.raw_line());  // the rest of the statement's line
    while (true) {
      const std::uint64_t line = lexer_.line();
      const auto text = lexer_.raw_line();
      if (!text) {
        if (wanted) broken(line, "the data does not end with \\.: the dump is incomplete");
        break;
      }
      if (*text == "\\.") break;
      if (wanted && columns) copy_row(*text, line, *columns);
    }
  }

  void copy_row(std::string_view text, std::uint64_t line, const std::vector<std::string>& columns) {
    SqlRow row{.line = line, .values = {}, .fault = {}};
    std::size_t index = 0;
    while (true) {
      const std::size_t end = text.find('\t');
      const std::string_view field = text.substr(0, end);
      if (index < columns.size())
        row.values[columns[index]] = field == "\\N" ? std::nullopt : std::optional(unescape(field));
      ++index;
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    if (index != columns.size()) row.fault = fmt::format("{} values for {} columns", index, columns.size());
    rows_.push_back(std::move(row));
  }

  static std::string unescape(std::string_view field) {
    std::string out;
    for (std::size_t i = 0; i < field.size(); ++i) {
      char c = field[i];
      if (c == '\\' && i + 1 < field.size()) {
        c = field[++i];
        c = c == 'n'   ? '\n'
            : c == 't' ? '\t'
            : c == 'r' ? '\r'
            : c == 'b' ? '\b'
            : c == 'f' ? '\f'
            : c == 'v' ? '\v'
                       : c;
      }
      out += c;
    }
    return out;
  }

  Lexer lexer_;
  Token token_;
  std::string_view table_;
  const std::vector<std::string>& columns_;
  std::vector<SqlRow> rows_;
};

}  // namespace

std::vector<SqlRow> sql_rows(std::string_view dump, std::string_view table, const std::vector<std::string>& columns) {
  return Dump(dump, table, columns).rows();
}

}  // namespace pawl
