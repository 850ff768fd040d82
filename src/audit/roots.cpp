#include "audit/roots.hpp"

#include <algorithm>

#include "audit/audit_line.hpp"
#include "base/json.hpp"
#include "codec/sealed_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kBegin = "[\n";
constexpr std::string_view kBetween = ",\n";

std::optional<Sha256> hash_in(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  return hash_of_hex(value.get_ref<const std::string&>());
}

}  // namespace

std::string encode_root(const SettledRoot& root, std::uint32_t seed) {
  std::string line = fmt::format(R"({{"size":{},"at":"{}","bytes":{},"head":"{}","root":"{}","frontier":[)",
                                 root.tree.size(), root.at.text(), root.bytes, root.head, to_hex(root.tree.root()));
  for (const Sha256& peak : root.tree.peaks())
    line += fmt::format("{}\"{}\"", line.ends_with('[') ? "" : ",", to_hex(peak));
  line += ']';
  seal(line, seed);
  return line;
}

std::optional<SettledRoot> decode_root(std::string_view line, std::uint32_t seed) {
  const auto body = unseal(line, seed);
  if (!body) return std::nullopt;
  const Json value = Json::parse(fmt::format("{}}}", *body), nullptr, false);
  if (!value.is_object()) return std::nullopt;
  const auto number = [&](const char* key) {
    return value.contains(key) && value[key].is_number_unsigned() ? value[key].get<std::uint64_t>() : 0;
  };
  const auto text = [&](const char* key) {
    return value.contains(key) && value[key].is_string() ? value[key].get<std::string>() : std::string();
  };
  std::vector<Sha256> peaks;
  if (!value.contains("frontier") || !value["frontier"].is_array()) return std::nullopt;
  for (const Json& peak : value["frontier"]) {
    const auto hash = hash_in(peak);
    if (!hash) return std::nullopt;
    peaks.push_back(*hash);
  }
  auto tree = MerkleFrontier::of(number("size"), std::move(peaks));
  const auto at = Timestamp::parse(text("at"));
  if (!tree || !at) return std::nullopt;
  SettledRoot root{*at, number("bytes"), text("head"), std::move(*tree)};
  if (encode_root(root, seed) != line) return std::nullopt;
  return root;
}

RootsText parse_roots(std::string_view text, std::uint32_t seed) {
  RootsText parsed;
  const auto fault = [&](std::string what) {
    parsed.fault = std::move(what);
    return parsed;
  };
  if (!text.starts_with(kBegin)) return fault("the beginning of the file is invalid");
  std::string_view rest = text.substr(kBegin.size());
  while (true) {
    const std::size_t number = parsed.roots.size() + 1;
    const std::size_t end = rest.find('\n');
    const bool more = end != std::string_view::npos && end > 0 && rest[end - 1] == ',';
    auto root = decode_root(rest.substr(0, end == std::string_view::npos ? end : end - (more ? 1 : 0)), seed);
    if (!root) return fault(fmt::format("root {} is damaged", number));
    if (!parsed.roots.empty() && root->tree.size() <= parsed.roots.back().tree.size())
      return fault(fmt::format("root {} is out of order", number));
    parsed.roots.push_back(std::move(*root));
    parsed.end = static_cast<std::uint64_t>(rest.data() - text.data()) +
                 (end == std::string_view::npos ? rest.size() : end - (more ? 1 : 0));
    parsed.ends.push_back(parsed.end);
    if (end == std::string_view::npos) return fault("the file is truncated");
    if (!more) {
      rest.remove_prefix(end);
      return rest == kRootsEnd ? parsed : fault("the end of the file is invalid");
    }
    rest.remove_prefix(end + 1);
  }
}

std::string next_root_text(const SettledRoot& root, std::uint64_t end, std::uint32_t seed) {
  return fmt::format("{}{}{}", end == 0 ? kBegin : kBetween, encode_root(root, seed), kRootsEnd);
}

bool add_entry(SettledRoot& root, std::string_view line) {
  const std::size_t size = line.size();
  if (line.ends_with('\n')) line.remove_suffix(1);
  const auto entry = AuditLine::parse(line);
  const auto hash = entry ? hash_of_hex(entry->hash) : std::nullopt;
  const auto at = entry ? Timestamp::parse(entry->at) : std::nullopt;
  if (!hash || !at || entry->index != root.tree.size() + 1) return false;
  root.tree.add(merkle_leaf(std::string_view(reinterpret_cast<const char*>(hash->data()), hash->size())));
  root.at = *at;
  root.head = entry->hash;
  root.bytes += size;
  return true;
}

}  // namespace pawl
