#include "libprof/report/names.hpp"

#include <array>
#include <span>

#include "libprof/base/demangle.hpp"

namespace gpuprof::report {
namespace {

#include "libprof/report/api_names.inc"

bool has_column(store::Database& database, std::string_view table, std::string_view column) {
  auto statement = database.prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2");
  statement.bind(1, table).bind(2, column);
  return statement.step();
}

}  // namespace

std::string_view without_version(std::string_view api_name) {
  const auto underscore = api_name.find('_');
  return underscore == 0 ? api_name : api_name.substr(0, underscore);
}

std::string memcpy_name(std::int64_t copy_kind) {
  static constexpr std::array<std::string_view, 11> kinds{
      "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  const bool known = copy_kind > 0 && copy_kind < static_cast<std::int64_t>(kinds.size());
  return "[CUDA memcpy " + std::string(kinds[known ? static_cast<std::size_t>(copy_kind) : 0]) +
         "]";
}

Names::Names(store::Database& database) {
  if (database.has_table("StringTable")) {
    string_ = database.prepare(has_column(database, "StringTable", "demangled")
                                   ? "SELECT value, demangled FROM StringTable WHERE _id_ = ?1"
                                   : "SELECT value, NULL FROM StringTable WHERE _id_ = ?1");
  }
  if (database.has_table("API_NAME")) {
    api_ = database.prepare("SELECT name FROM API_NAME WHERE domain = ?1 AND cbid = ?2");
  }
}

std::string Names::kernel(std::int64_t string_id) {
  std::string name;
  if (string_id != 0 && string_.handle()) {  // id 0 is NULL whatever its row holds
    string_.reset();
    string_.bind(1, string_id);
    if (string_.step()) {
      name = string_.is_null(1) ? demangled(std::string(string_.text(0))) : string_.text(1);
    }
    string_.reset();
  }
  return name.empty() ? "<kernel name " + std::to_string(string_id) + ">" : name;
}

std::string Names::api(ApiDomain domain, std::int64_t cbid) {
  const bool runtime = domain == ApiDomain::runtime;
  std::string name;
  if (api_.handle()) {
    api_.reset();
    api_.bind(1, runtime ? "runtime" : "driver").bind(2, cbid);
    if (api_.step()) name = without_version(api_.text(0));
    api_.reset();
  }
  if (!name.empty()) return name;
  const auto known = runtime ? std::span<const std::string_view>(runtime_api_names)
                             : std::span<const std::string_view>(driver_api_names);
  if (cbid >= 0 && cbid < static_cast<std::int64_t>(known.size())) {
    return std::string(known[static_cast<std::size_t>(cbid)]);
  }
  return (runtime ? "<runtime function " : "<driver function ") + std::to_string(cbid) + ">";
}

}  // namespace gpuprof::report
