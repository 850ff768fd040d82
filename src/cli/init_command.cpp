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

std::string keep_text(const RetentionSettings& retention) {
  return fmt::format("it {}\nto change this, set checkpoint.keep in config.yaml\n", retention_text(retention));
}

Result<void> init(const Invocation& invocation, InitArguments arguments) {
  arguments.store.config = config_of(arguments);
  if (!arguments.store.encrypted && (arguments.store.key.file || arguments.store.key.passphrase))
    arguments.store.encrypted = true;
  const StorePlace place = invocation.new_store_place();
  if (place.origin == StoreOrigin::setting && invocation.context().make_parents)
    PAWL_TRY(invocation.context().make_parents(place.uri));
  PAWL_TRY_ASSIGN(const MadeStore made, invocation.context().admin.make(place.uri, arguments.store));
  if (invocation.json()) {
    Json document = {{"store", made.folder}, {"id", made.id.text()}, {"encrypted", made.key.has_value()}};
    document["keep"] = made.retention.keep ? Json(*made.retention.keep) : Json();
    if (made.key) document["key"] = key_json(*made.key);
    invocation.print(compact(document) + "\n");
    return {};
  }
  invocation.print(fmt::format("created {} store {}\n", made.key ? "the encrypted" : "the", made.folder));
  invocation.print(keep_text(made.retention));
  if (made.key) invocation.print(key_advice(*made.key));
  return {};
}

Result<void> rekey(const Invocation& invocation, const NewKey& wanted) {
  PAWL_TRY_ASSIGN(const StoreKeyPlace key, invocation.context().admin.rekey(invocation.store_uri(), wanted));
  if (invocation.json()) {
    Json document = {{"key", key_json(key)}};
    if (!key.old_file.empty()) document["key"]["old"] = key.old_file;
    invocation.print(compact(document) + "\n");
    return {};
  }
  invocation.print(fmt::format("the store has a new key, {}; the old key no longer opens it\n", key.key_id));
  if (key.old_file.empty()) {
    invocation.note("backups that were made before still need the old key");
  } else {
    invocation.print(
        fmt::format("backups that were made before need the old key, which is kept in {}\n", key.old_file));
  }
  invocation.print(key_advice(key));
  if (wanted.file)
    invocation.print(fmt::format(
        "to use it, set PAWL_KEY_FILE={0}, or `encryption: {{ key_file: {0} }}` in config.yaml\n", *wanted.file));
  return {};
}

void add_key_options(Options& app, NewKey& key) {
  app.text("--key-file", key.file, "Key file: mode 600, 32 bytes in hexadecimal; created if missing").value("FILE");
  app.flag("--passphrase", key.passphrase, "Derive the key from a passphrase, asked for or from PAWL_PASSPHRASE");
}

}  // namespace

Command add_init(Options& root) {
  const auto arguments = std::make_shared<InitArguments>();
  Options& app = root.command("init", "Create a store; `run` and `save` create an unencrypted one automatically");
  app.group(kCareGroup);
  app.flag("--encrypt", arguments->store.encrypted, "Encrypt stored data (AES-256-GCM)");
  add_key_options(app, arguments->store.key);
  app.text("--format", arguments->format,
           "Format of stored states where it is smaller: json, msgpack or cbor (default: json)")
      .words({"json", "msgpack", "cbor"})
      .value("WORD");
  app.text("--compression", arguments->compression, "auto (large states only), zstd or none (default: auto)")
      .words({"auto", "zstd", "none"})
      .value("WORD");
  app.footer(
      "The key of an encrypted store comes from --key-file, --passphrase, PAWL_KEY,\n"
      "PAWL_KEY_FILE or PAWL_PASSPHRASE. Without these, a new key is created in\n"
      "~/.config/pawl/keys, where later commands find it.\n"
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
  Options& app = root.command("rekey", "Change the key of an encrypted store without rewriting its data");
  app.group(kCareGroup);
  add_key_options(app, *wanted);
  app.footer(
      "Without options the new key replaces the old one in the same file, and the old\n"
      "key is kept beside it (.old-ID): backups and copies made before need it. A new\n"
      "passphrase is asked for, or taken from PAWL_NEW_PASSPHRASE; PAWL_NEW_KEY holds a\n"
      "new key itself.\n"
      "\n"
      "Examples:\n"
      "  pawl rekey\n"
      "  pawl rekey --key-file /secrets/pawl-2027.key");
  return {&app, [wanted](const Invocation& invocation) { return rekey(invocation, *wanted); }};
}

}  // namespace pawl::cli
