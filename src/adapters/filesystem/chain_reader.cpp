#include "adapters/filesystem/chain_reader.hpp"

#include <algorithm>
#include <set>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"

namespace pawl {
namespace {

const JournalRecord* in_journal(const ChainSource& source, Sequence sequence) {
  if (source.records == nullptr || source.pruned.is_closed(sequence) || source.pruned.is_aside(sequence))
    return nullptr;
  const auto found = source.records->checkpoints.find(sequence.value);
  return found == source.records->checkpoints.end() ? nullptr : &found->second.record;
}

Error in_run(Error error, std::string_view run, Sequence sequence, const std::string& path) {
  error.message = fmt::format("checkpoint {} of run '{}': {}", sequence.value, run, error.message);
  return with_advice(at(std::move(error), path), Advice::check_store, {.run = std::string(run)});
}

/// Decodes one text that should be checkpoint `expected`.
Result<RecordView> decode_as(std::string_view text, std::uint32_t seed, Sequence expected) {
  PAWL_TRY_ASSIGN(const RecordView record, decode_checkpoint(without_newline(text), seed));
  if (record.sequence != expected) {
    return fail(Code::chain_broken, "found checkpoint {} in its place", record.sequence.value);
  }
  return record;
}

/// The records in the file of a base, up to the first invalid one.
struct FileLines {
  std::vector<RecordView> records;
  std::optional<Error> bad;
  std::string_view rest;  // starting with the invalid line
};

FileLines decode_lines(std::string_view text, std::uint32_t seed, Sequence base) {
  FileLines lines;
  Sequence expected = base.next();
  for_each_line(text, [&](std::string_view line, bool complete) {
    auto record = decode_as(line, seed, expected);
    if (record && !complete) record = fail(Code::checkpoint_corrupt, "its line is incomplete");
    if (!record) {
      lines.bad = record.error();
      lines.rest = text.substr(static_cast<std::size_t>(line.data() - text.data()));
      return false;
    }
    lines.records.push_back(*record);
    expected = expected.next();
    return true;
  });
  return lines;
}

Result<void> read_whole(const ChainSource& source, std::uint32_t seed, Chain& chain) {
  const std::string path = whole_path(source, chain.base);
  const JournalRecord* copy = in_journal(source, chain.base);
  PAWL_TRY_ASSIGN(auto text, read_if_there(source.files, path));
  Result<RecordView> record = fail(Code::chain_broken, "the file is missing");
  if (text) {
    chain.whole_text = std::make_unique<std::string>(std::move(*text));
    record = decode_as(*chain.whole_text, seed, chain.base);
  }
  if (!record && text && copy != nullptr)
    chain.bad_copies.push_back({chain.base, is_left_by_crash(*chain.whole_text, copy->text), *chain.whole_text});
  if (copy != nullptr) record = decode_as(copy->text, seed, chain.base);
  if (record) {
    chain.links.push_back({*record, copy != nullptr});
  } else {
    chain.damage = in_run(record.error(), source.run, chain.base, path);
    chain.damaged = chain.base;
  }
  return {};
}

}  // namespace

std::string whole_path(const ChainSource& source, Sequence base) {
  return source.pruned.rewritten(base) != nullptr ? layout::kept(source.run, base) : layout::full(source.run, base);
}

std::string lines_path(const ChainSource& source, Sequence base) {
  return source.pruned.rewritten(base) != nullptr ? layout::kept_differences(source.run, base)
                                                  : layout::differences(source.run, base);
}

Result<std::vector<Sequence>> list_bases(const ChainSource& source) {
  std::set<Sequence> bases;
  if (source.fork_at) bases.insert(source.fork_at);
  PAWL_TRY_ASSIGN(const auto entries, source.files.list(layout::checkpoints(source.run)));
  for (const FolderEntry& entry : entries) {
    const auto base = entry.is_folder ? std::nullopt : base_in_file_name(entry.name);
    if (base && !source.pruned.is_closed(*base) && !source.pruned.is_aside(*base)) bases.insert(*base);
  }
  for (const auto& [sequence, sums] : source.pruned.kept) bases.insert(Sequence{sequence});
  if (source.records != nullptr) {
    for (const auto& [sequence, found] : source.records->checkpoints) {
      const bool counts = !source.pruned.closed.contains(sequence) && !source.pruned.aside.contains(sequence);
      if (found.record.flags == RecordFlags::own_file && counts) bases.insert(Sequence{sequence});
    }
  }
  return std::vector<Sequence>(bases.begin(), bases.end());
}

Result<void> drop_stray_bases(const ChainSource& source, std::uint32_t seed, Sequence audited,
                              std::vector<Sequence>& bases) {
  while (audited && !bases.empty() && bases.back() > audited) {
    const Sequence base = bases.back();
    if (base == source.fork_at || in_journal(source, base) != nullptr) return {};
    const auto text = source.files.read_file(whole_path(source, base));
    if (!text && !is_refusal(text.error().code)) return std::unexpected(text.error());
    if (text && decode_as(*text, seed, base)) return {};
    bases.pop_back();
  }
  return {};
}

Result<Chain> read_chain(const ChainSource& source, std::uint32_t seed, Sequence base, Sequence up_to) {
  Chain chain;
  chain.base = base;
  if (source.fork_at && base == source.fork_at) {
    chain.borrowed = true;
    chain.links.emplace_back();
    chain.links.back().record.sequence = base;
    if (source.pruned.is_closed(base.next())) return chain;
  } else {
    PAWL_TRY(read_whole(source, seed, chain));
  }
  const Sequence bound = source.pruned.before_aside(base, up_to);
  const bool ends_aside = bound < up_to;
  up_to = bound;
  // Of a pruned group, only the tail of a kept checkpoint remains.
  if (source.pruned.rewritten(base) != nullptr) up_to = std::min(up_to, source.pruned.tail_end(base));
  if (chain.damage || up_to <= base) return chain;
  const std::string path = lines_path(source, base);
  PAWL_TRY_ASSIGN(auto text, read_if_there(source.files, path));
  FileLines lines;
  if (text) {
    chain.lines_text = std::make_unique<std::string>(std::move(*text));
    lines = decode_lines(*chain.lines_text, seed, base);
    if (!ends_aside) chain.bad_line = lines.bad;
  }
  for (Sequence next = base.next(); next <= up_to; next = next.next()) {
    const std::size_t line = next.value - base.value - 1;
    const JournalRecord* copy = in_journal(source, next);
    if (copy != nullptr && copy->number != base.value) break;  // a new base begins
    if (line < lines.records.size()) {
      chain.links.push_back({lines.records[line], copy != nullptr});
      continue;
    }
    const bool bad_line = lines.bad && line == lines.records.size();
    if (copy == nullptr) {
      if (bad_line) {
        chain.damage = in_run(*lines.bad, source.run, next, path);
        chain.damaged = next;
      }
      break;
    }
    if (bad_line) chain.bad_copies.push_back({next, is_left_by_crash(lines.rest, copy->text), lines.rest});
    auto record = decode_as(copy->text, seed, next);
    if (!record) {
      chain.damage = in_run(record.error(), source.run, next, std::string(layout::kJournals));
      chain.damaged = next;
      break;
    }
    chain.links.push_back({*record, true});
  }
  return chain;
}

}  // namespace pawl
