#include "libprof/store/object_names.hpp"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "schema/enums.hpp"

namespace gpuprof::store {
namespace {

enum ObjectKind : std::uint32_t {
  process = schema::object_kind("process"),
  context = schema::object_kind("context"),
  stream = schema::object_kind("stream"),
};

struct Object {
  ObjectKind kind;
  std::array<std::uint32_t, 3>
      ids;              // CUpti_ActivityObjectKindId: process; or device, context, stream
  std::int64_t own_id;  // the id that it is named by
  std::int64_t process_id;
  std::string name;
};

// `sql` returns process, device, context and stream.
void find(std::vector<Object>& objects, Database& database, ObjectKind kind,
          const ObjectNames::Name& name, const char* sql) {
  if (!name) return;
  auto rows = database.prepare(sql);
  while (rows.step()) {
    const auto id = [&](int column) { return static_cast<std::uint32_t>(rows.integer(column)); };
    Object object{kind, {id(1), id(2), id(3)}, rows.integer(0), rows.integer(0), {}};
    if (kind == process) object.ids = {id(0), 0, 0};
    if (kind == context) object.own_id = rows.integer(2);
    if (kind == stream) object.own_id = rows.integer(3);
    object.name = name(object.own_id, object.process_id);
    objects.push_back(std::move(object));
  }
}

}  // namespace

void name_objects(Database& database, const ObjectNames& names,
                  const std::function<std::int64_t(std::string_view)>& string_id) {
  std::vector<Object> objects;
  find(objects, database, process, names.process, "SELECT processId, 0, 0, 0 FROM main.PROCESS");
  find(objects, database, context, names.context,
       "SELECT processId, deviceId, contextId, 0 FROM main.CUPTI_ACTIVITY_KIND_CONTEXT");
  // A context's default stream has no row in STREAM.
  find(objects, database, stream, names.stream,
       "SELECT processId, deviceId, contextId, nullStreamId FROM main.CUPTI_ACTIVITY_KIND_CONTEXT "
       "UNION SELECT s.processId, c.deviceId, s.contextId, s.streamId "
       "FROM main.CUPTI_ACTIVITY_KIND_STREAM s "
       "JOIN main.CUPTI_ACTIVITY_KIND_CONTEXT c USING (contextId, processId)");
  if (objects.empty()) return;

  auto add = database.prepare(
      "INSERT INTO main.CUPTI_ACTIVITY_KIND_NAME(objectKind, objectId, name, threadId, "
      "objectDeviceId, objectContextId, objectStreamId, processId) "
      "SELECT ?1, ?2, ?3, 0, ?4, ?5, ?6, ?7 "
      "WHERE NOT EXISTS (SELECT 1 FROM main.CUPTI_ACTIVITY_KIND_NAME "
      "WHERE objectKind = ?1 AND objectId = ?2 AND processId = ?7)");
  for (const Object& object : objects) {
    add.bind(1, std::int64_t{object.kind})
        .bind_blob(2, std::as_bytes(std::span(object.ids)))
        .bind(3, string_id(object.name))
        .bind(7, object.process_id);
    for (int column = 4; column <= 6; ++column) add.bind_null(column);
    if (object.kind != process) {
      add.bind(4, std::int64_t{object.ids[0]}).bind(5, std::int64_t{object.ids[1]});
    }
    if (object.kind == stream) add.bind(6, std::int64_t{object.ids[2]});
    add.run();
  }
}

}  // namespace gpuprof::store
