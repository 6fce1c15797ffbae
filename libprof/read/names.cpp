#include "libprof/read/names.hpp"

#include <algorithm>

#include "libprof/base/printable.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/names/nvprof_demangle.hpp"
#include "libprof/read/blob.hpp"
#include "schema/enums.hpp"
#include "schema/nvprof_api.hpp"
#include "schema/traits.hpp"

namespace gpuprof::reading {
namespace {

// The kind's name with the number's name instead of its *.
std::string enum_name_of(const schema::GpuKind& kind, std::int64_t number) {
  std::string_view name = schema::enum_name(kind.named, number);
  if (name.empty() || number == 0) name = "Unknown";  // as nvprof prints it
  std::string text(kind.name);
  return text.replace(text.find('*'), 1, name);
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Interpreters: people know the process by their first argument.
bool runs_others(std::string_view program) {
  constexpr std::array programs{"python",  "pypy", "perl", "ruby", "node", "java", "julia",
                                "Rscript", "lua",  "bash", "dash", "zsh",  "sh"};
  return std::ranges::any_of(programs, [&](std::string_view each) {
    return program.starts_with(each) &&
           program.find_first_not_of("0123456789.", each.size()) == program.npos;
  });
}

}  // namespace

std::string program_name(std::string_view command_line, std::string_view executable) {
  const std::vector<std::string> words = shell_words(command_line);
  std::string name(file_name(words.empty() ? executable : std::string_view(words.front())));
  if (!runs_others(name)) return name;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-c" || word == "-e") return name + " " + word;  // followed by code, not by a name
    if (word == "-m") return i + 1 < words.size() ? name + " -m " + words[i + 1] : name;
    if (!word.starts_with('-')) return name + " " + std::string(file_name(word));
  }
  return name;
}

std::string memcpy_name(std::int64_t copy_kind) {
  return enum_name_of(*schema::gpu_kind("MEMCPY"), copy_kind);
}

std::string_view memset_name() {
  constexpr std::string_view name = schema::gpu_kind("MEMSET")->name;
  return name;
}

bool is_transfer(std::string_view name) {
  return name == memset_name() || name.starts_with("[CUDA memcpy ");
}

ApiNames::ApiNames(store::Database& database) {
  // A foreign file may have a table of that name too.
  for (const std::string_view column : {"domain", "cbid", "name"}) {
    if (!database.has_column("API_NAME", column)) return;
  }
  names_ = database.prepare("SELECT name FROM main.API_NAME WHERE domain = ?1 AND cbid = ?2");
}

std::string ApiNames::find(ApiDomain domain, std::int64_t cbid) {
  const bool runtime = domain == ApiDomain::runtime;
  std::string name;
  if (names_.handle()) {
    names_.bind(1, runtime ? "runtime" : "driver").bind(2, cbid);
    if (names_.step()) name = names_.text(0);
    names_.reset();
  }
  // CUPTI names functions that it no longer knows by number: "cuda34".
  const bool placeholder = name.size() > 4 && name.starts_with("cuda") &&
                           name.find_first_not_of("0123456789", 4) == std::string::npos;
  if (!name.empty() && !placeholder) return name;
  const auto known = schema::nvprof_api_names(runtime);
  if (cbid >= 0 && cbid < static_cast<std::int64_t>(known.size())) {
    const std::string_view text = known[static_cast<std::size_t>(cbid)];
    if (!text.empty()) return std::string(text);
  }
  return name;
}

namespace {

// Adds what each green context has of its device: "2 (32 SMs)".
void add_parts(store::Database& database,
               std::map<std::array<std::int64_t, 2>, std::string>& contexts) {
  if (!database.has_column("CUPTI_ACTIVITY_KIND_GREEN_CONTEXT", "numMultiprocessors")) return;
  auto rows = database.prepare(
      "SELECT deviceId, contextId, max(numMultiprocessors) FROM CUPTI_ACTIVITY_KIND_GREEN_CONTEXT "
      "GROUP BY deviceId, contextId");
  while (rows.step()) {
    std::string& name = contexts[{rows.integer(0), rows.integer(1)}];
    if (name.empty()) name = std::to_string(rows.integer(1));
    name += " (" + std::to_string(rows.integer(2)) + " SMs)";
  }
}

}  // namespace

Names::Names(store::Database& database, NameStyle style) : style_(style), api_(database) {
  if (database.has_table("StringTable")) {
    ours_ = database.has_column("StringTable", "demangled");
    const bool shortens =
        style == NameStyle::display && ours_ && database.has_column("StringTable", "display");
    const std::string stored = shortens ? "coalesce(display, demangled)"
                               : ours_  ? "demangled"
                                        : "NULL";
    string_ = database.prepare("SELECT value, " + stored + " FROM StringTable WHERE _id_ = ?1");
  }
  read_devices(database);
  read_given_names(database);
  add_parts(database, contexts_);
  for (const auto& [id, name] : contexts_) {
    longest_context_ = std::max(longest_context_, printable(name).size());
  }
  read_processes(database);
}

std::string Names::text(std::int64_t string_id) {
  if (string_id == 0) return {};
  std::string text;
  bool found = false;
  if (string_.handle()) {
    string_.reset();
    string_.bind(1, string_id);
    found = string_.step();
    if (found) text = string_.text(0);
    string_.reset();
  }
  missing_ += !found;
  return text;
}

const std::string& Names::kernel(std::int64_t string_id) {
  const auto [place, is_new] = kernels_.try_emplace(string_id);
  std::string& name = place->second;
  if (!is_new) return name;
  name = text(string_id);
  std::string written;
  const bool is_stored = style_ == NameStyle::modern || style_ == NameStyle::display;
  if (!is_stored) written = readable(name);
  const bool stored =
      is_stored || (style_ == NameStyle::compatible && ours_ && written.starts_with("_Z"));
  if (stored && !name.empty()) {
    string_.bind(1, string_id);
    if (string_.step() && !string_.is_null(1)) written = string_.text(1);
    string_.reset();
  }
  if (written.empty()) written = readable(name);
  name = std::move(written);
  if (name.empty()) name = "<kernel name " + std::to_string(string_id) + ">";
  return name;
}

std::string Names::gpu_work(const schema::GpuKind& kind, std::int64_t id) {
  if (kind.named_by.empty()) return std::string(kind.name);
  return kind.named.empty() ? kernel(id) : enum_name_of(kind, id);
}

std::string Names::readable(const std::string& mangled) const {
  switch (style_) {
    case NameStyle::nvprof:
    case NameStyle::compatible: return nvprof_demangled(mangled);
    case NameStyle::display:
    case NameStyle::modern: return demangled(mangled);
    case NameStyle::mangled: break;
  }
  return mangled;
}

std::string Names::api(ApiDomain domain, std::int64_t cbid, bool full) {
  const std::string name = api_.find(domain, cbid);
  const std::string_view shown = full ? name : schema::without_version(name);
  if (!shown.empty()) return std::string(shown);
  const bool runtime = domain == ApiDomain::runtime;
  return (runtime ? "<runtime function " : "<driver function ") + std::to_string(cbid) + ">";
}

void Names::read_devices(store::Database& database) {
  if (!database.has_table("CUPTI_ACTIVITY_KIND_DEVICE")) return;
  auto rows = database.prepare("SELECT id, name FROM CUPTI_ACTIVITY_KIND_DEVICE");
  while (rows.step()) models_.try_emplace(rows.integer(0), text(rows.integer(1)));
  for (const auto& [id, model] : models_) {
    devices_[id] = model.empty() ? std::to_string(id) : model + " (" + std::to_string(id) + ")";
  }
}

// Reads table NAME: the program's names for devices, contexts, streams and threads.
void Names::read_given_names(store::Database& database) {
  if (!database.has_table("CUPTI_ACTIVITY_KIND_NAME")) return;
  auto rows = database.prepare("SELECT objectKind, objectId, name FROM CUPTI_ACTIVITY_KIND_NAME");
  while (rows.step()) {
    const auto object = object_id(rows.blob(1));
    if (!object) continue;
    const auto [first, second, third] = *object;
    std::string name = text(rows.integer(2));
    switch (rows.integer(0)) {
      case schema::object_kind("thread"): threads_[second] = std::move(name); break;
      case schema::object_kind("device"):
        devices_[first] = name + " (" + std::to_string(first) + ")";
        break;
      case schema::object_kind("context"): contexts_[{first, second}] = std::move(name); break;
      case schema::object_kind("stream"):
        longest_stream_ = std::max(longest_stream_, printable(name).size());
        streams_[{first, second, third}] = std::move(name);
        break;
      default: break;
    }
  }
}

void Names::read_processes(store::Database& database) {
  if (!database.has_columns("PROCESS", {"processId", "number", "executable", "command_line"}))
    return;
  const std::string used_cuda =
      database.has_column("PROCESS", "cupti_version") ? "cupti_version NOT NULL" : "0";
  auto rows =
      database.prepare("SELECT processId, command_line, executable FROM main.PROCESS ORDER BY " +
                       used_cuda + ", number");
  while (rows.step()) {
    const std::string name = program_name(rows.text(1), rows.text(2));
    if (name.empty()) continue;
    processes_[rows.integer(0)] = printable(name) + " [" + std::to_string(rows.integer(0)) + "]";
  }
}

std::string Names::process(std::int64_t process_id) const {
  const auto known = processes_.find(process_id);
  return known == processes_.end() ? "process " + std::to_string(process_id) : known->second;
}

const std::string& Names::device(std::int64_t device_id) {
  const auto [place, is_new] = devices_.try_emplace(device_id);
  if (is_new) place->second = std::to_string(device_id);
  return place->second;
}

const std::string& Names::device_model(std::int64_t device_id) {
  static const std::string none;
  const auto found = models_.find(device_id);
  return found == models_.end() ? none : found->second;
}

std::vector<std::int64_t> Names::devices() const {
  std::vector<std::int64_t> ids;
  for (const auto& [id, model] : models_) ids.push_back(id);
  return ids;
}

std::string Names::context(std::int64_t device_id, std::int64_t context_id) const {
  const auto given = contexts_.find({device_id, context_id});
  return given == contexts_.end() ? std::to_string(context_id) : given->second;
}

std::string Names::stream(std::int64_t device_id, std::int64_t context_id,
                          std::int64_t stream_id) const {
  const auto given = streams_.find({device_id, context_id, stream_id});
  return given == streams_.end() ? std::to_string(stream_id) : given->second;
}

const std::string* Names::thread(std::int64_t thread_id) const {
  const auto given = threads_.find(thread_id);
  return given == threads_.end() ? nullptr : &given->second;
}

}  // namespace gpuprof::reading
