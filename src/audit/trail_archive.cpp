#include "audit/trail_archive.hpp"

#include <charconv>

#include "audit/audit_line.hpp"
#include "codec/compression.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kEntriesPerPart = 1000;
constexpr std::uint64_t kTextPerPart = std::uint64_t{1} << 20;
constexpr std::string_view kLinkMember = ",\"prev\":\"";
constexpr std::string_view kHashMember = ",\"hash\":\"";
constexpr std::string_view kPartBegin = "{\"first\":";
constexpr std::string_view kPartEnd = "{\"last\":";
constexpr std::size_t kLinkDigits = 64;

std::unexpected<Error> bad_archive(std::string_view why) {
  return fail(
      Error{Code::checksum_mismatch, fmt::format("archived audit entries {}", why), {}, {}, 0, Advice::check_store});
}

std::optional<std::string_view> take_part_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

/// Reads `{"first":7,"prev":"..."}` or `{"last":9,"hash":"..."}`.
std::optional<TrailPoint> parse_point(std::string_view line, std::string_view key, std::string_view hash_key) {
  if (!line.starts_with(key) || !line.ends_with("\"}")) return std::nullopt;
  line = line.substr(key.size(), line.size() - key.size() - 2);
  TrailPoint point;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), point.entry);
  if (problem != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.starts_with(hash_key)) return std::nullopt;
  const auto hash = hash_of_hex(line.substr(hash_key.size()));
  if (!hash) return std::nullopt;
  point.hash = *hash;
  return point;
}

/// Completes the text of an archived entry and moves `point` to it.
bool append_entry(std::string& lines, std::string_view entry, TrailPoint& point) {
  if (!entry.ends_with('}')) return false;
  const std::size_t begin = lines.size();
  lines += entry.substr(0, entry.size() - 1);
  lines += kLinkMember;
  lines += to_hex(point.hash);
  lines += '"';
  point.hash = sha256(bytes_of(point.hash), std::string_view(lines).substr(begin));
  lines += kHashMember;
  lines += to_hex(point.hash);
  lines += "\"}\n";
  ++point.entry;
  return true;
}

}  // namespace

bool TrailPacker::add(std::string_view line) {
  const auto entry = AuditLine::parse(line);
  if (!entry || entry->index != end_.entry + 1) return false;
  const std::size_t link_bytes = kLinkMember.size() + kLinkDigits + 1;
  if (entry->body.size() < link_bytes) return false;
  const std::string_view head = entry->body.substr(0, entry->body.size() - link_bytes);
  const std::string archived = std::string(head) + "}";
  // What is read back must be the same line.
  std::string back;
  TrailPoint next = end_;
  if (!append_entry(back, archived, next) || back != std::string(line) + "\n") return false;
  text_ += archived;
  text_ += '\n';
  end_ = next;
  return true;
}

bool TrailPacker::full() const { return end_.entry - begin_.entry >= kEntriesPerPart || text_.size() >= kTextPerPart; }

std::string TrailPacker::take() {
  const std::string whole =
      fmt::format("{}{}{}{}\"}}\n{}{}{}{}{}\"}}\n", kPartBegin, begin_.entry + 1, kLinkMember, to_hex(begin_.hash),
                  text_, kPartEnd, end_.entry, kHashMember, to_hex(end_.hash));
  begin_ = end_;
  text_.clear();
  return compress_gzip(whole);
}

Result<TrailPart> unpack_trail(std::string_view archive) {
  auto member = decompress_gzip_member(archive, kTrailPartBytesMax);
  if (!member) return bad_archive("can't be decompressed");
  TrailPart part;
  part.stored_bytes = member->stored_bytes;
  std::string_view rest = member->content;
  const auto first = take_part_line(rest);
  auto begin = first ? parse_point(*first, kPartBegin, kLinkMember) : std::nullopt;
  if (!begin || begin->entry == 0) return bad_archive("don't say where they begin");
  --begin->entry;
  part.begin = part.end = *begin;
  part.lines.reserve(rest.size() * 2);
  while (const auto line = take_part_line(rest)) {
    if (!rest.empty()) {
      if (!append_entry(part.lines, *line, part.end)) return bad_archive("have an unexpected form");
      continue;
    }
    const auto end = parse_point(*line, kPartEnd, kHashMember);
    if (!end || *end != part.end)
      return bad_archive(fmt::format("{} to {} don't match their last hash", part.begin.entry + 1, part.end.entry));
    return part;
  }
  return bad_archive("are truncated");
}

}  // namespace pawl
