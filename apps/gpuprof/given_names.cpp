#include "apps/gpuprof/given_names.hpp"

#include <array>
#include <map>
#include <span>
#include <vector>

#include "libprof/launch/file_name.hpp"

namespace gpuprof::app {
namespace {

// CUpti_ActivityObjectKind
enum ObjectKind : std::uint32_t { process = 1, context = 4, stream = 5 };

struct Object {
  ObjectKind kind;
  std::array<std::uint32_t, 3>
      ids;              // CUpti_ActivityObjectKindId: process; or device, context, stream
  std::int64_t own_id;  // what %i stands for
  std::int64_t process_id;
  std::string name;
};

// `sql` gives process, device, context and stream.
void find(std::vector<Object>& objects, store::Database& profile, ObjectKind kind,
          const std::string& pattern, const char* sql) {
  if (pattern.empty()) return;
  auto rows = profile.prepare(sql);
  while (rows.step()) {
    const auto id = [&](int column) { return static_cast<std::uint32_t>(rows.integer(column)); };
    Object object{kind, {id(1), id(2), id(3)}, rows.integer(0), rows.integer(0), {}};
    if (kind == process) object.ids = {id(0), 0, 0};
    if (kind == context) object.own_id = rows.integer(2);
    if (kind == stream) object.own_id = rows.integer(3);
    object.name = object_name(pattern, object.own_id, object.process_id);
    objects.push_back(std::move(object));
  }
}

}  // namespace

std::string object_name(const std::string& pattern, std::int64_t id, std::int64_t process_id) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string two = pattern.substr(at, 2);
    if (two == "%i") {
      name += std::to_string(id);
    } else {
      name += two == "%%" ? two : pattern.substr(at, 1);
    }
    at += two == "%i" || two == "%%";
  }
  return launch::expand_name(name, process_id);
}

void give_names(store::Database& profile, const Options& options) {
  std::vector<Object> objects;
  find(objects, profile, process, options.process_name, "SELECT processId, 0, 0, 0 FROM PROCESS");
  find(objects, profile, context, options.context_name,
       "SELECT processId, deviceId, contextId, 0 FROM CUPTI_ACTIVITY_KIND_CONTEXT");
  // A context's default stream has no row of its own.
  find(objects, profile, stream, options.stream_name,
       "SELECT processId, deviceId, contextId, nullStreamId FROM CUPTI_ACTIVITY_KIND_CONTEXT UNION "
       "SELECT s.processId, c.deviceId, s.contextId, s.streamId FROM CUPTI_ACTIVITY_KIND_STREAM s "
       "JOIN CUPTI_ACTIVITY_KIND_CONTEXT c USING (contextId, processId)");
  if (objects.empty()) return;

  profile.execute("BEGIN");
  auto known = profile.prepare("SELECT _id_ FROM StringTable WHERE value = ?1");
  auto add = profile.prepare("INSERT INTO StringTable(value) VALUES(?1)");
  std::map<std::string_view, std::int64_t> ids;
  const auto string_id = [&](std::string_view text) {
    const auto [place, is_new] = ids.try_emplace(text);
    if (!is_new) return place->second;
    known.bind(1, text);
    const bool found = known.step();
    if (found) place->second = known.integer(0);
    known.reset();
    if (!found) {
      add.bind(1, text).run();
      place->second = profile.integer("SELECT last_insert_rowid()").value_or(0);
    }
    return place->second;
  };
  auto name = profile.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_NAME(objectKind, objectId, name, threadId, objectDeviceId, "
      "objectContextId, objectStreamId, processId) SELECT ?1, ?2, ?3, 0, ?4, ?5, ?6, ?7 "
      "WHERE NOT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_NAME "
      "WHERE objectKind = ?1 AND objectId = ?2 AND processId = ?7)");
  for (const Object& object : objects) {
    name.bind(1, std::int64_t{object.kind})
        .bind_blob(2, std::as_bytes(std::span(object.ids)))
        .bind(3, string_id(object.name))
        .bind(7, object.process_id);
    for (int column = 4; column <= 6; ++column) name.bind_null(column);
    if (object.kind != process)
      name.bind(4, std::int64_t{object.ids[0]}).bind(5, std::int64_t{object.ids[1]});
    if (object.kind == stream) name.bind(6, std::int64_t{object.ids[2]});
    name.run();
  }
  profile.execute("COMMIT");
}

}  // namespace gpuprof::app
