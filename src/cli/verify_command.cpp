#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/verify_text.hpp"

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

std::string text_of(const VerifiedStore& verified, const Style& style) {
  std::string text;
  for (const RunVerdict& verdict : verified.runs) text += verdict_text(verdict, style);
  for (const std::string& run : verified.gone)
    text += fmt::format("{}: {}: missing, but listed in the anchor\n", printable(run), style(Colour::red, "BAD"));
  for (const std::string& run : verified.fresh) text += fmt::format("{}: newer than the anchor\n", printable(run));
  return text;
}

std::string document_of(const VerifiedStore& verified) {
  std::vector<std::string> rows;
  std::vector<std::string> gone;
  std::vector<std::string> fresh;
  for (const RunVerdict& verdict : verified.runs) rows.push_back(verdict_json(verdict));
  for (const std::string& run : verified.gone) gone.push_back(compact(Json(run)));
  for (const std::string& run : verified.fresh) fresh.push_back(compact(Json(run)));
  return JsonObject()
             .boolean("ok", verified.fine())
             .raw("runs", json_array(rows))
             .raw("gone", json_array(gone))
             .raw("not_in_anchor", json_array(fresh))
             .done() +
         "\n";
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
  PAWL_TRY_ASSIGN(const auto evidence, open_evidence(invocation));
  PAWL_TRY_ASSIGN(const VerifiedStore verified, verify_store(*evidence, arguments.run, anchor, verifier(invocation)));
  invocation.print(invocation.json() ? document_of(verified) : text_of(verified, invocation.style()));
  return check_verified(verified);
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
