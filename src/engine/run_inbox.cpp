#include "engine/run_inbox.hpp"

#include "base/error_line.hpp"
#include "domain/event_types.hpp"
#include "engine/audit_entries.hpp"

namespace pawl {
namespace {

using machine::fact::MessageArrived;
using machine::fact::MessageType;

MessageType type_of(std::string_view text) {
  if (text == "approve") return MessageType::approve;
  if (text == "reject") return MessageType::reject;
  if (text == "signal") return MessageType::signal;
  if (text == "cancel") return MessageType::cancel;
  if (text == "checkpoint") return MessageType::checkpoint;
  if (text == "audit") return MessageType::audit;
  return MessageType::other;
}

/// An entry that could not have been added directly is a message that nobody understands.
void read_entry(const Json& body, MessageArrived& fact) {
  const std::string agent = text_in(body, "agent");
  const NewAuditEntry entry{text_in(body, "entry"), agent.empty() ? fact.from : agent,
                            body.value("data", Json::object())};
  if (const Result<void> checked = check_entry(entry); !checked || !entry.data.is_object()) {
    fact.type = MessageType::other;
    return;
  }
  fact.text = entry.type;
  fact.by = entry.agent;
  fact.payload = entry.data;
}

MessageArrived fact_of(const Message& message, const Json& body) {
  MessageArrived fact{.id = message.id, .at = message.at};
  if (!body.is_object()) return fact;
  fact.type = type_of(text_in(body, "type"));
  fact.path = text_in(body, "step");
  fact.binding = text_in(body, "binding");
  fact.by = text_in(body, "by");
  fact.from = message.from.empty() ? text_in(body, "from") : message.from;  // what the message claims counts least
  switch (fact.type) {
    case MessageType::approve:
    case MessageType::reject: fact.text = text_in(body, "comment"); break;
    case MessageType::cancel: fact.text = text_in(body, "reason"); break;
    case MessageType::signal:
      fact.text = text_in(body, "signal");
      fact.payload = body.value("payload", Json());
      break;
    case MessageType::audit: read_entry(body, fact); break;
    default: break;
  }
  return fact;
}

}  // namespace

void RunInbox::deliver(const Message& message) {
  if (!delivered_.insert(message.id).second) return;
  Json body = Json::parse(message.body, nullptr, false);
  if (body.is_object() && !message.from.empty()) body["from"] = message.from;
  recorder_.add_details(event_type::kMessageRefused, message.id, {{"message", body}});
  context_.feed(fact_of(message, body));
}

void RunInbox::poll() {
  if (context_.state.finishing || context_.state.saving.memory_only) return;
  const Result<std::vector<Message>> messages = context_.services.store.inbox(context_.id);
  if (!messages) {
    if (messages.error().code != Code::run_not_found)
      recorder_.tell({.type = event_type::kInboxTrouble, .data = {{"error", describe_in_line(messages.error())}}});
    return;
  }
  for (const Message& message : *messages) deliver(message);
}

void RunInbox::read(const machine::command::ReadInbox& command) {
  if (command.seal) {
    const Result<void> sealed = recorder_.seal_inbox();
    if (!sealed)
      recorder_.tell({.type = event_type::kInboxTrouble, .data = {{"error", describe_in_line(sealed.error())}}});
  }
  poll();
  context_.feed(machine::fact::InboxRead{command.seal});
}

void RunInbox::unseal() { recorder_.unseal_inbox(); }

void RunInbox::take(const machine::command::TakeMessage& command) {
  recorder_.drop_details(event_type::kMessageRefused, command.id);
  if (delivered_.contains(command.id)) static_cast<void>(context_.services.store.take(context_.id, command.id));
}

}  // namespace pawl
