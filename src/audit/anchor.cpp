#include "audit/anchor.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace pawl {
namespace {

constexpr std::string_view kForm = "anchor/1";
constexpr std::string_view kSignatureKey = ",\n\"signature\":\"";

std::unexpected<Error> wrong(std::string what) {
  return fail(Error{
      Code::signature_wrong, std::move(what), {}, "use the copy of the anchor that is kept apart from the store", 0});
}

std::optional<AuditHead> head_in(const Json& value) {
  if (!value.is_object()) return std::nullopt;
  const auto uuid = Uuid::parse(text_in(value, "uuid"));
  const auto at = Timestamp::parse(text_in(value, "at"));
  const auto entries = value.find("entries");
  if (!uuid || !at || entries == value.end() || !entries->is_number_unsigned()) return std::nullopt;
  return AuditHead{text_in(value, "run"),  *uuid, entries->get<std::uint64_t>(), text_in(value, "head"),
                   text_in(value, "root"), *at};
}

}  // namespace

const AuditHead* Anchor::find(std::string_view run) const {
  const auto found = std::ranges::find(runs, run, &AuditHead::run);
  return found == runs.end() ? nullptr : &*found;
}

Result<std::string> sign_anchor(Anchor& anchor, const SigningKey& key) {
  PAWL_TRY_ASSIGN(anchor.public_key, key.public_key());
  std::string text =
      fmt::format("{{\"pawl\":\"{}\",\"store\":\"{}\",\"created\":\"{}\",\"public_key\":\"{}\",\"runs\":[", kForm,
                  anchor.store.text(), anchor.created.text(), anchor.public_key);
  for (const AuditHead& head : anchor.runs) {
    text += text.ends_with('[') ? "\n" : ",\n";
    text += compact({{"run", head.run},
                     {"uuid", head.uuid.text()},
                     {"entries", head.entries},
                     {"head", head.head},
                     {"root", head.root},
                     {"at", head.at.text()}});
  }
  text += "\n]";
  PAWL_TRY_ASSIGN(const std::string signature, key.sign(text));
  return fmt::format("{}{}{}\"}}\n", text, kSignatureKey, signature);
}

Result<Anchor> read_anchor(std::string_view text, std::string_view trusted) {
  const std::size_t key = text.rfind(kSignatureKey);
  const Json value = Json::parse(text, nullptr, false);
  if (key == std::string_view::npos || !value.is_object() || text_in(value, "pawl") != kForm)
    return wrong("the file is not an anchor");
  Anchor anchor;
  anchor.public_key = text_in(value, "public_key");
  const std::string signature = text_in(value, "signature");
  if (fmt::format("{}{}{}\"}}\n", text.substr(0, key), kSignatureKey, signature) != text ||
      !signature_fits(anchor.public_key, text.substr(0, key), signature)) {
    return wrong("the signature does not match the anchor");
  }
  if (anchor.public_key != trusted) {
    return fail(
        Error{Code::signature_wrong,
              fmt::format("the anchor was signed with key {}, but the trusted key is {}", anchor.public_key, trusted),
              {},
              "pass the public key of its author with --public-key FILE",
              0});
  }
  const auto store = Uuid::parse(text_in(value, "store"));
  const auto created = Timestamp::parse(text_in(value, "created"));
  const auto runs = value.find("runs");
  if (!store || !created || runs == value.end() || !runs->is_array()) return wrong("the file is not an anchor");
  anchor.store = *store;
  anchor.created = *created;
  for (const Json& run : *runs) {
    auto head = head_in(run);
    if (!head) return wrong("the file is not an anchor");
    anchor.runs.push_back(std::move(*head));
  }
  return anchor;
}

}  // namespace pawl
