#include "codec/state_format.hpp"

#include "base/json.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::size_t kDepthMax = 512;

Json::input_format_t input_format(StateFormat format) {
  return format == StateFormat::cbor ? Json::input_format_t::cbor : Json::input_format_t::msgpack;
}

std::string_view name_of(StateFormat format) { return format == StateFormat::cbor ? "CBOR" : "MessagePack"; }

/// Writes JSON while the bytes are read, without building a tree. The reader stops recursing as soon as this returns
/// false.
class TextWriter {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit TextWriter(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  bool null() { return value("null"); }
  bool boolean(bool is_true) { return value(is_true ? "true" : "false"); }
  bool number_integer(number_integer_t number) { return value(fmt::format_int(number).c_str()); }
  bool number_unsigned(number_unsigned_t number) { return value(fmt::format_int(number).c_str()); }
  bool number_float(number_float_t number, const string_t&) {
    return std::isfinite(number) && value(Json(number).dump());
  }
  bool string(const string_t& text) {
    begin_value();
    append_json_string(text_, text);
    return fits();
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open('{'); }
  bool key(const string_t& name) {
    if (!first_) text_ += ',';
    first_ = true;  // no comma before its value
    append_json_string(text_, name);
    text_ += ':';
    return fits();
  }
  bool end_object() { return close('}'); }
  bool start_array(std::size_t) { return open('['); }
  bool end_array() { return close(']'); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void begin_value() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  bool value(std::string_view text) {
    begin_value();
    text_ += text;
    return fits();
  }
  bool open(char bracket) {
    begin_value();
    text_ += bracket;
    first_ = true;
    return ++depth_ <= kDepthMax && fits();
  }
  bool close(char bracket) {
    text_ += bracket;
    first_ = false;
    --depth_;
    return fits();
  }
  [[nodiscard]] bool fits() const { return text_.size() <= bytes_max_; }

  std::uint64_t bytes_max_;
  std::string text_;
  std::size_t depth_ = 0;
  bool first_ = true;
};

}  // namespace

std::optional<std::string> to_binary(std::string_view json, StateFormat format) {
  const Json value = Json::parse(json, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  std::string bytes;
  if (format == StateFormat::cbor) {
    Json::to_cbor(value, bytes);
  } else {
    Json::to_msgpack(value, bytes);
  }
  const Result<std::string> again = from_binary(bytes, format, json.size());
  if (!again || *again != json) return std::nullopt;
  return bytes;
}

Result<std::string> from_binary(std::string_view bytes, StateFormat format, std::uint64_t bytes_max) {
  TextWriter writer(bytes_max);
  bool read = false;
  try {
    read = Json::sax_parse(bytes.begin(), bytes.end(), &writer, input_format(format));
  } catch (const std::exception&) {  // the library throws on bytes that it does not expect
    read = false;
  }
  if (!read) {
    return fail(Error{Code::decoding_failed,
                      fmt::format("a stored state is not valid {}", name_of(format)),
                      {},
                      {},
                      0,
                      Advice::check_store});
  }
  return writer.take();
}

}  // namespace pawl
