#include <map>
#include <memory>
#include <string>
#include <utility>

#include "libprof/read/blob.hpp"
#include "libprof/report/trace/source.hpp"
#include "schema/enums.hpp"

namespace gpuprof::report {
namespace {

// NVTX marks, and ranges with one row per end.
class MarkerSource : public TraceSource {
 public:
  explicit MarkerSource(Session& session)
      : TraceSource(session,
                    {.rows = {.kind = "MARKER", .time = "timestamp", .valid = "timestamp > 0"},
                     .amounts = {}}),
        is_shown_(session.filter(kind())) {}

  // An end takes its name from its start, so starts are tracked even if a filter hides them.
  bool next() override {
    do {
      if (!TraceSource::next()) return false;
      name_ = integer(4);
      const std::int64_t flags = integer(1);
      if (flags & range_start) open_[range()] = name_;
      found_ = !(flags & range_end);
      if (flags & range_end) {
        const auto start = open_.find(range());
        if (start != open_.end()) {
          found_ = true;
          name_ = start->second;
          open_.erase(start);
        }
      }
    } while (integer(7) == 0);
    return true;
  }

 protected:
  std::vector<std::string_view> columns() override {
    return {"timestamp", "flags", "id", "objectId", "name", "domain", "objectKind", is_shown_};
  }
  store::Statement select(const std::vector<std::string_view>& columns) override {
    return session_.select(kind(), columns, "WHERE " + valid() + " ORDER BY timestamp");
  }
  void read() override {
    const std::int64_t flags = integer(1);
    text(TraceField::kind, "marker");
    process(process_id());
    std::string* text = this->text(TraceField::name);
    if (!text) return;
    *text = flags & range_start ? "[Range start] "
            : flags & range_end ? "[Range end] "
                                : "[Marker] ";
    *text += string(name_, found_ ? "<unnamed>" : "(null)");
    text->append(" (Domain: ").append(string(integer(5), "<unnamed>")).append(")");
  }

 private:
  static constexpr std::int64_t range_start = schema::marker_flag("range start"),
                                range_end = schema::marker_flag("range end");

  std::string string(std::int64_t id, const char* none) {
    return id == 0 ? none : session_.names().text(id);
  }
  // 0 if unknown.
  std::int64_t process_id() const {
    const auto id = reading::object_id(row().blob(3));
    const bool has_process = integer(6) <= schema::object_kind("thread");  // a process or a thread
    return id && has_process ? (*id)[0] : 0;
  }
  // Range ids are per process.
  std::pair<std::int64_t, std::int64_t> range() const { return {process_id(), integer(2)}; }

  const std::string is_shown_;                                          // SQL condition
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> open_;  // range to its name
  std::int64_t name_ = 0;
  bool found_ = false;  // the row has its own name, or ends a known range
};

}  // namespace

std::unique_ptr<TraceSource> marker_source(Session& session) {
  return std::make_unique<MarkerSource>(session);
}

}  // namespace gpuprof::report
