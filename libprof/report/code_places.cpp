#include "libprof/report/code_places.hpp"

#include "libprof/base/text.hpp"

namespace gpuprof::report {
namespace {

std::int64_t began(Session& session) {
  store::Database& database = session.database();
  if (!database.has_column("RUN", "key") || !database.has_column("RUN", "value")) return 0;
  return database.integer("SELECT value FROM RUN WHERE key = 't0_realtime_ns'").value_or(0);
}

}  // namespace

std::size_t most_rows(const Session& session) {
  constexpr std::size_t usual = 10;
  const int top = session.options().top;
  return top > 0 ? static_cast<std::size_t>(top) : usual;
}

void say_of_the_rest(Output& output, std::size_t all, std::size_t printed, const char* one,
                     const char* several) {
  if (all <= printed) return;
  const std::size_t rest = all - printed;
  output.line("  and " + std::to_string(rest) + " more " + (rest == 1 ? one : several) +
              " (--top N)");
}

double percent(std::int64_t part, std::int64_t all) {
  return all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

// --- functions

FunctionNames::FunctionNames(Session& session) : session_(session) {
  auto rows = session.select("FUNCTION", {"processId", "id", "name"});
  while (rows.step()) names_[{rows.integer(0), rows.integer(1)}] = rows.integer(2);
  const std::string& kernels = session.options().filter.kernels;
  if (!kernels.empty()) pattern_.emplace(kernels);
}

std::int64_t FunctionNames::name(std::int64_t process, std::int64_t function) const {
  const auto found = names_.find({process, function});
  return found == names_.end() ? 0 : found->second;
}

bool FunctionNames::wanted(std::int64_t name) {
  if (!pattern_) return true;
  const auto [place, is_new] = wanted_.try_emplace(name);
  if (is_new) place->second = pattern_->found_in(session_.names().kernel(name));
  return place->second;
}

// --- lines

SourcePlaces::SourcePlaces(Session& session) {
  auto lines = session.select("SOURCE_LOCATOR", {"id", "fileName", "lineNumber"});
  while (lines.step()) {
    if (lines.integer(2) > 0) lines_[lines.integer(0)] = {lines.integer(1), lines.integer(2)};
  }
}

SourcePlace SourcePlaces::find(std::int64_t locator, std::int64_t pc) const {
  const auto line = lines_.find(locator);
  if (line == lines_.end()) return {.pc = pc};
  return {.file = line->second.first > 0 ? line->second.first : 0, .line = line->second.second};
}

std::string place_text(const SourcePlace& place, const std::string& file) {
  if (place.file > 0) return file + ":" + std::to_string(place.line);
  if (place.line > 0) return "line " + std::to_string(place.line);
  return "+" + hexadecimal(place.pc);
}

// --- printing

PlacePrinter::PlacePrinter(Session& session) : session_(session) {
  const ReportOptions& options = session.options();
  if (options.source) source_.emplace(options.source_root, began(session));
}

std::string PlacePrinter::file(const SourcePlace& place) {
  return place.file > 0 ? session_.names().text(place.file) : "";
}

std::string PlacePrinter::text(const SourcePlace& place) { return place_text(place, file(place)); }

std::optional<std::string> PlacePrinter::source(const SourcePlace& place) {
  if (!source_ || place.file == 0) return {};
  return source_->line(file(place), place.line);
}

void PlacePrinter::print_source(const SourcePlace& place, std::size_t indent) {
  if (const auto text = source(place)) {
    session_.output().line(std::string(indent, ' ') + "| " + *text);
  }
}

void PlacePrinter::add_columns(std::vector<Column>& columns) {
  columns.push_back({.heading = "File", .key = "file"});
  columns.push_back({.heading = "Line", .quantity = Quantity::count, .key = "line"});
  columns.push_back({.heading = "PC", .quantity = Quantity::count, .key = "pc_offset_bytes"});
}

void PlacePrinter::add_cells(std::vector<Cell>& row, const SourcePlace& place) {
  row.resize(row.size() + 3);
  const auto cells = row.end() - 3;
  if (place.file > 0) cells[0] = file(place);
  place.line > 0 ? cells[1] = place.line : cells[2] = place.pc;
}

void PlacePrinter::add_source_column(std::vector<Column>& columns) const {
  if (source_) columns.push_back({.heading = "Source", .key = "source"});
}

void PlacePrinter::add_source_cell(std::vector<Cell>& row, const SourcePlace& place) {
  if (!source_) return;
  Cell& cell = row.emplace_back();
  if (const auto text = source(place)) cell = *text;
}

void PlacePrinter::say_changed() {
  if (!source_) return;
  for (const std::string& file : source_->changed()) {
    session_.output().warning(file +
                              " was changed after the run began: its lines may be others by now.");
  }
}

}  // namespace gpuprof::report
