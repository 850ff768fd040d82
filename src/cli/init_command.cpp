#include "base/json.hpp"
#include "cli/command.hpp"

namespace pawl::cli {
namespace {

struct InitArguments {
  NewStore store;
  std::string format;
  std::string compression;
};

std::string config_of(const InitArguments& arguments) {
  if (arguments.format.empty() && arguments.compression.empty()) return {};
  std::string text = "checkpoint:\n";
  if (!arguments.format.empty()) text += fmt::format("  format: {}\n", arguments.format);
  if (!arguments.compression.empty()) text += fmt::format("  compression: {}\n", arguments.compression);
  return text;
}

Json key_json(const StoreKeyPlace& key) { return {{"id", key.key_id}, {"from", key.from}}; }

Result<void> init(const Invocation& invocation, InitArguments arguments) {
  arguments.store.config = config_of(arguments);
  if (!arguments.store.encrypted && (arguments.store.key.file || arguments.store.key.passphrase))
    arguments.store.encrypted = true;
  PAWL_TRY_ASSIGN(const MadeStore made, invocation.context().admin.make(invocation.store_uri(), arguments.store));
  if (invocation.json()) {
    Json document = {{"store", made.folder}, {"id", made.id.text()}, {"encrypted", made.key.has_value()}};
    if (made.key) document["key"] = key_json(*made.key);
    invocation.print(compact(document) + "\n");
    return {};
  }
  invocation.print(fmt::format("made {} store {}\n", made.key ? "the encrypted" : "the", made.folder));
  if (made.key) invocation.print(key_advice(*made.key));
  return {};
}

Result<void> rekey(const Invocation& invocation, const NewKey& wanted) {
  PAWL_TRY_ASSIGN(const StoreKeyPlace key, invocation.context().admin.rekey(invocation.store_uri(), wanted));
  if (invocation.json()) {
    invocation.print(compact(Json{{"key", key_json(key)}}) + "\n");
    return {};
  }
  invocation.print(fmt::format("the store has a new key, {}; the old one does not open it any more\n", key.key_id));
  invocation.print(key_advice(key));
  if (wanted.file)
    invocation.print(fmt::format(
        "later commands need PAWL_KEY_FILE={0}, or `encryption: {{ key_file: {0} }}` in config.yaml\n", *wanted.file));
  return {};
}

void add_key_options(Options& app, NewKey& key) {
  app.text("--key-file", key.file, "The key: a file of mode 600 with 32 bytes in hexadecimal; made if missing")
      .value("FILE");
  app.flag("--passphrase", key.passphrase,
           "The key is made of a passphrase, which is asked for, or in the environment");
}

}  // namespace

Command add_init(Options& root) {
  const auto arguments = std::make_shared<InitArguments>();
  Options& app = root.command("init", "Make a store; `save` and `run` make a plain one by themselves");
  app.group(kCareGroup);
  app.flag("--encrypt", arguments->store.encrypted, "Encrypt what it stores (AES-256-GCM)");
  add_key_options(app, arguments->store.key);
  app.text("--format", arguments->format, "How states are stored: json, msgpack or cbor")
      .words({"json", "msgpack", "cbor"})
      .value("WORD");
  app.text("--compression", arguments->compression, "auto (large states only), zstd or none")
      .words({"auto", "zstd", "none"})
      .value("WORD");
  app.footer(
      "The key of an encrypted store comes from --key-file, --passphrase, PAWL_KEY, PAWL_KEY_FILE or PAWL_PASSPHRASE; "
      "without any\n"
      "of these a new one is made in ~/.config/pawl/keys, where later commands find it by themselves.\n"
      "\n"
      "Examples:\n"
      "  pawl init\n"
      "  pawl init --encrypt\n"
      "  pawl init --encrypt --key-file /secrets/pawl.key\n"
      "  pawl init --format msgpack --compression zstd");
  return {&app, [arguments](const Invocation& invocation) { return init(invocation, *arguments); }};
}

Command add_rekey(Options& root) {
  const auto wanted = std::make_shared<NewKey>();
  Options& app = root.command("rekey", "Give an encrypted store a new key; what it stores is not written again");
  app.group(kCareGroup);
  add_key_options(app, *wanted);
  app.footer(
      "The present key is found as by every command. Without options the new one takes its place in the same file; a "
      "new\n"
      "passphrase is asked for, or in PAWL_NEW_PASSPHRASE; PAWL_NEW_KEY is the new key itself.\n"
      "\n"
      "Examples:\n"
      "  pawl rekey\n"
      "  pawl rekey --key-file /secrets/pawl-2027.key");
  return {&app, [wanted](const Invocation& invocation) { return rekey(invocation, *wanted); }};
}

}  // namespace pawl::cli
