#include "libprof/c_api/stream.hpp"

#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof::c_api {
namespace {

struct Field {
  std::string name;
  Kind kind{};
};

// What a stream returns. The schema is rebuilt on each request, since it may be requested
// repeatedly.
struct Rows {
  std::vector<Field> fields;
  std::deque<Owned<ArrowArray>> chunks;
};

Rows& rows_in(ArrowArrayStream* stream) { return *static_cast<Rows*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  try {
    std::vector<ArrowColumn> columns;
    for (const Field& field : rows_in(stream).fields) columns.emplace_back(field.name, field.kind);
    *out = schema_of(columns);
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  Rows& rows = rows_in(stream);
  *out = ArrowArray{};
  if (rows.chunks.empty()) return 0;
  *out = rows.chunks.front().take();
  rows.chunks.pop_front();
  return 0;
}

const char* get_last_error(ArrowArrayStream*) noexcept { return "out of memory"; }

void release(ArrowArrayStream* stream) noexcept {
  delete &rows_in(stream);
  stream->release = nullptr;
}

ArrowArrayStream stream_of(std::unique_ptr<Rows> rows) {
  return {.get_schema = get_schema,
          .get_next = get_next,
          .get_last_error = get_last_error,
          .release = release,
          .private_data = rows.release()};
}

}  // namespace

ArrowArrayStream stream_of(std::vector<ArrowColumn>& columns) {
  auto rows = std::make_unique<Rows>();
  for (const ArrowColumn& column : columns) rows->fields.push_back({column.name(), column.kind()});
  if (!columns.empty() && columns.front().size() > 0) rows->chunks.emplace_back(rows_of(columns));
  return stream_of(std::move(rows));
}

ArrowArrayStream join(std::vector<Owned<ArrowArrayStream>> streams) {
  auto all = std::make_unique<Rows>();
  bool first = true;
  for (Owned<ArrowArrayStream>& stream : streams) {
    // Foreign streams are rejected: these must all come from stream_of().
    if (stream.get().release != release) {
      throw Error("a stream is not one of libgpuprof's", "", ExitCode::bad_option);
    }
    Rows& rows = rows_in(&stream.get());
    if (first) all->fields = rows.fields;
    first = false;
    const auto differs = [&](std::size_t i) {
      return rows.fields[i].name != all->fields[i].name ||
             rows.fields[i].kind != all->fields[i].kind;
    };
    bool differ = rows.fields.size() != all->fields.size();
    for (std::size_t i = 0; !differ && i < rows.fields.size(); ++i) differ = differs(i);
    if (differ) {
      throw Error("the files have other columns there", "choose those that all have",
                  ExitCode::bad_option);
    }
    for (Owned<ArrowArray>& chunk : rows.chunks) all->chunks.push_back(std::move(chunk));
  }
  return stream_of(std::move(all));
}

}  // namespace gpuprof::c_api
