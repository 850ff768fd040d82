#include "audit/anchor.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/verify_store.hpp"

namespace pawl::cli {
namespace {

struct VerifyArguments {
  std::string run;
  bool all = false;
  std::string anchor;
  std::string public_key;
};

constexpr std::uint64_t kAnchorBytesMax = 1ULL << 30U;
constexpr std::uint64_t kKeyBytesMax = 1ULL << 16U;

struct Verified {
  std::vector<RunVerdict> runs;
  std::vector<std::string> gone;   // in the anchor, and not in the store
  std::vector<std::string> fresh;  // in the store, and not in the anchor
};

Result<std::string> trusted_key(const Invocation& invocation, const std::string& file) {
  if (!file.empty()) {
    PAWL_TRY_ASSIGN(const std::string text, invocation.context().read_file(file, kKeyBytesMax));
    auto key = parse_public_key(text);
    if (!key) return fail(at(key.error(), file));
    return *key;
  }
  PAWL_TRY_ASSIGN(const auto own, invocation.context().audit.own_public_key());
  if (own) return *own;
  return fail(Error{Code::signature_wrong,
                    "no signing key: pass --public-key FILE",
                    {},
                    "pass the public key of whoever signed the anchor: --public-key FILE",
                    0});
}

Result<std::optional<Anchor>> anchor_of(const Invocation& invocation, const VerifyArguments& arguments) {
  if (arguments.anchor.empty()) return std::optional<Anchor>();
  PAWL_TRY_ASSIGN(const std::string text, invocation.context().read_file(arguments.anchor, kAnchorBytesMax));
  PAWL_TRY_ASSIGN(const std::string key, trusted_key(invocation, arguments.public_key));
  auto anchor = read_anchor(text, key);
  if (!anchor) return fail(at(anchor.error(), arguments.anchor));
  return std::optional(std::move(*anchor));
}

Result<Verified> verify_all(const Invocation& invocation, const VerifyArguments& arguments,
                            const std::optional<Anchor>& anchor) {
  PAWL_TRY_ASSIGN(const auto evidence, open_evidence(invocation));
  if (anchor) {
    PAWL_TRY_ASSIGN(const Uuid store, evidence->store_id());
    if (store != anchor->store) {
      return fail(
          Error{Code::anchor_mismatch,
                fmt::format("the anchor belongs to store {}, but this is {}", anchor->store.text(), store.text()),
                {},
                "pass the right store with --store, or the anchor of this store",
                0});
    }
  }
  Verified verified;
  std::vector<std::string> runs = {arguments.run};
  if (arguments.all) {
    PAWL_TRY_ASSIGN(runs, evidence->runs());
    for (const AuditHead& head : anchor ? anchor->runs : std::vector<AuditHead>()) {
      if (std::ranges::find(runs, head.run) == runs.end()) verified.gone.push_back(head.run);
    }
  }
  for (const std::string& name : runs) {
    const auto id = RunId::parse(name);
    if (!id && arguments.all) continue;  // not a run of Pawl's
    if (!id) return std::unexpected(id.error());
    const AnchorPoint* point = anchor ? anchor->find(name) : nullptr;
    auto verdict = verify_with_progress(invocation, *evidence, *id, point);
    if (!verdict && verdict.error().code == Code::run_not_found && point != nullptr) {
      verified.gone.push_back(name);
      continue;
    }
    if (!verdict) return std::unexpected(verdict.error());
    if (anchor && point == nullptr) verified.fresh.push_back(name);
    verified.runs.push_back(std::move(*verdict));
  }
  return verified;
}

std::string text_of(const Verified& verified, const Style& style) {
  std::string text;
  for (const RunVerdict& verdict : verified.runs) text += verdict_text(verdict, style);
  for (const std::string& run : verified.gone)
    text += fmt::format("{}: {}: missing, but listed in the anchor\n", printable(run), style(Colour::red, "BAD"));
  for (const std::string& run : verified.fresh) text += fmt::format("{}: newer than the anchor\n", printable(run));
  return text;
}

std::string document_of(const Verified& verified) {
  std::vector<std::string> rows;
  std::vector<std::string> gone;
  std::vector<std::string> fresh;
  bool fine = verified.gone.empty();
  for (const RunVerdict& verdict : verified.runs) {
    fine = fine && !verdict.bad;
    rows.push_back(verdict_json(verdict));
  }
  for (const std::string& run : verified.gone) gone.push_back(compact(Json(run)));
  for (const std::string& run : verified.fresh) fresh.push_back(compact(Json(run)));
  return JsonObject()
             .boolean("ok", fine)
             .raw("runs", json_array(rows))
             .raw("gone", json_array(gone))
             .raw("not_in_anchor", json_array(fresh))
             .done() +
         "\n";
}

Result<void> first_trouble(const Verified& verified) {
  for (const RunVerdict& verdict : verified.runs) {
    if (verdict.bad) return fail(error_of(verdict));
  }
  if (verified.gone.empty()) return {};
  return fail(Error{Code::anchor_mismatch,
                    fmt::format("run '{}' is missing, but listed in the anchor", verified.gone.front()),
                    {},
                    "restore the run's folder from a backup made after the anchor",
                    0});
}

Result<void> verify(const Invocation& invocation, const VerifyArguments& arguments) {
  if (arguments.run.empty() != arguments.all) {
    return fail(Error{Code::usage,
                      arguments.all ? "RUN and --all can't be used together" : "missing argument: RUN (or pass --all)",
                      {},
                      "run: pawl verify RUN, or: pawl verify --all",
                      0});
  }
  PAWL_TRY_ASSIGN(const std::optional<Anchor> anchor, anchor_of(invocation, arguments));
  PAWL_TRY_ASSIGN(const Verified verified, verify_all(invocation, arguments, anchor));
  invocation.print(invocation.json() ? document_of(verified) : text_of(verified, invocation.style()));
  return first_trouble(verified);
}

}  // namespace

Command add_verify(Options& root) {
  const auto arguments = std::make_shared<VerifyArguments>();
  Options& app = root.command("verify", "Verify that a run's history is unchanged; exit 4 if not");
  app.group(kCareGroup);
  app.text("RUN", arguments->run, "Run id");
  app.flag("--all", arguments->all, "All runs in the store");
  app.text("--anchor", arguments->anchor, "Compare with an anchor written by `pawl audit anchor`").value("FILE");
  app.text("--public-key", arguments->public_key, "Public key of the anchor's signer (default: your own)")
      .value("FILE");
  app.footer(
      "Recomputes the audit chain and everything it covers from the stored bytes:\n"
      "run.json, checkpoints, events and Merkle roots. Needs no encryption key and no\n"
      "network, and writes nothing. Only an anchor reveals a truncated trail, a rebuilt\n"
      "chain or a missing run.\n"
      "\n"
      "Examples:\n"
      "  pawl verify nightly\n"
      "  pawl verify --all --json\n"
      "  pawl verify --all --anchor anchor.json\n"
      "  pawl verify --all --anchor anchor.json --public-key signing.pub");
  return {&app, [arguments](const Invocation& invocation) { return verify(invocation, *arguments); }};
}

}  // namespace pawl::cli
