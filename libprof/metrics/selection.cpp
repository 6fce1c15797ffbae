#include "libprof/metrics/selection.hpp"

#include <utility>

#include "libprof/names/demangler.hpp"
#include "schema/traits.hpp"

namespace gpuprof::metrics {
namespace {

std::unique_ptr<Pattern> pattern_of(const std::string& text) {
  return text.empty() ? nullptr : std::make_unique<Pattern>(text);
}

}  // namespace

std::vector<wire::CollectScope> scopes_of(const std::vector<Request>& requests) {
  std::vector<wire::CollectScope> scopes;
  for (const Request& request : requests) {
    scopes.push_back({.devices = request.devices,
                      .contexts = !request.contexts.empty(),
                      .streams = !request.streams.empty(),
                      .invocations = !request.invocations.empty(),
                      .skip = request.skip,
                      .count = request.count});
  }
  return scopes;
}

struct Selection::Patterns {
  std::unique_ptr<Pattern> contexts, streams, kernels, invocations;  // null: all
};

std::vector<Selection::Scope> Selection::patterns_of(const std::vector<Request>& requests) {
  std::vector<Scope> patterns;
  for (const Request& request : requests) {
    patterns.push_back({.contexts = request.contexts,
                        .streams = request.streams,
                        .kernels = request.kernels,
                        .invocations = request.invocations});
  }
  return patterns;
}

Selection::Selection(const std::vector<Scope>& scopes, const std::string& left_out,
                     const std::string& ranges)
    : left_out_(pattern_of(left_out)), ranges_(pattern_of(ranges)) {
  for (const Scope& scope : scopes) {
    auto made = std::make_unique<Patterns>();
    made->contexts = pattern_of(scope.contexts);
    made->streams = pattern_of(scope.streams);
    made->kernels = pattern_of(scope.kernels);
    made->invocations = pattern_of(scope.invocations);
    scopes_.push_back(std::move(made));
  }
}

Selection::~Selection() = default;

void Selection::leave_out(std::string kernel) {
  const std::lock_guard lock(mutex_);
  hung_.insert(std::move(kernel));
}

bool Selection::names_matter() const {
  for (const auto& scope : scopes_) {
    if (scope->kernels) return true;
  }
  const std::lock_guard lock(mutex_);
  return left_out_ || !hung_.empty();
}

void Selection::answer(const std::shared_ptr<const Selection>& selection,
                       const wire::Fields& question, Reply reply) {
  const std::string number(question.text("number"));
  wire::Fields answer;
  answer.set("answer", number);
  if (const auto symbol = question.find("kernel")) {
    Demangler::shared().ask(
        std::string(*symbol), [selection, answer, reply](const Readable& readable) mutable {
          for (const auto& [name, value] : selection->about_kernel(readable.text)) {
            answer.set(name, value);
          }
          reply(answer);
        });
  } else if (const auto message = question.find("range")) {
    const Pattern* ranges = selection->ranges_.get();
    answer.set("fits", std::int64_t{!ranges || ranges->found_in(*message)});
    reply(answer);
  } else if (const auto what = question.find("numbers")) {
    const std::string bits =
        selection->numbers(static_cast<std::uint64_t>(question.integer("scope", -1)), *what,
                           static_cast<std::uint64_t>(question.integer("block", -1)));
    if (bits.empty()) return;
    answer.set("fits", bits);
    reply(answer);
  }
}

wire::Fields Selection::about_kernel(const std::string& readable) const {
  wire::Fields answer;
  std::string fitting;
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    const Pattern* kernels = scopes_[i]->kernels.get();
    if (!kernels || kernels->found_in(readable)) fitting += std::to_string(i) + ",";
  }
  answer.set("scopes", fitting);
  answer.set("waits", std::int64_t{schema::is_communication_kernel(readable)});
  const std::lock_guard lock(mutex_);
  const bool left_out = hung_.contains(readable) || (left_out_ && left_out_->found_in(readable));
  answer.set("left_out", std::int64_t{left_out});
  return answer;
}

std::string Selection::numbers(std::uint64_t scope, std::string_view what,
                               std::uint64_t block) const {
  if (scope >= scopes_.size() || block > wire::last_number_block) return {};
  const Patterns& patterns = *scopes_[scope];
  const Pattern* pattern = what == "context"      ? patterns.contexts.get()
                           : what == "stream"     ? patterns.streams.get()
                           : what == "invocation" ? patterns.invocations.get()
                                                  : nullptr;
  if (!pattern) return {};
  std::string bits(wire::numbers_per_block / 8, '\0');
  for (std::uint64_t i = 0; i < wire::numbers_per_block; ++i) {
    if (!pattern->fits(std::to_string(block * wire::numbers_per_block + i))) continue;
    bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
  }
  return bits;
}

std::uint64_t Selection::gave_up() const {
  std::uint64_t all = 0;
  const auto add = [&](const std::unique_ptr<Pattern>& pattern) {
    if (pattern) all += pattern->gave_up();
  };
  add(left_out_);
  add(ranges_);
  for (const auto& scope : scopes_) {
    for (const auto* pattern :
         {&scope->contexts, &scope->streams, &scope->kernels, &scope->invocations}) {
      add(*pattern);
    }
  }
  return all;
}

}  // namespace gpuprof::metrics
