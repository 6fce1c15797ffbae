#include <algorithm>
#include <array>

#include "libprof/exchange/export/format.hpp"
#include "libprof/exchange/export/writer_thread.hpp"

namespace gpuprof::exporting {

extern const FileFormat arrow_format, chrome_format, chrome_gzip_format, csv_format, folded_format,
    hta_format, hta_gzip_format, nsys_format, otlp_format, perfetto_format, pprof_format,
    speedscope_format;

namespace {

constexpr std::array<const FileFormat*, 12> all_formats{
    &perfetto_format, &chrome_format, &chrome_gzip_format, &hta_format,
    &hta_gzip_format, &nsys_format,   &folded_format,      &speedscope_format,
    &pprof_format,    &otlp_format,   &csv_format,         &arrow_format};

}  // namespace

std::span<const FileFormat* const> file_formats() { return all_formats; }

const FileFormat* find_format(std::string_view name) {
  const auto found = std::ranges::find(all_formats, name, &FileFormat::name);
  return found == all_formats.end() ? nullptr : *found;
}

const FileFormat* format_of_file(std::string_view file_name) {
  const FileFormat* best = nullptr;
  for (const FileFormat* format : all_formats) {
    if (!file_name.ends_with(format->ending)) continue;
    if (!best || format->ending.size() > best->ending.size()) best = format;
  }
  return best;
}

const FileFormat* format_for_tool(std::string_view tool, std::string_view file_name) {
  const auto found = std::ranges::find_if(all_formats, [&](const FileFormat* format) {
    return format->tool == tool && (*format->gzip != '\0') == file_name.ends_with(".gz");
  });
  return found == all_formats.end() ? nullptr : *found;
}

namespace {

// Counters of a device have no process.
void add_counters(reading::Profile& profile, const reading::Window& window,
                  const ExportOptions& options, FormatWriter& writer) {
  const auto among = [](const std::vector<std::int64_t>& wanted, std::int64_t id) {
    return wanted.empty() || std::ranges::count(wanted, id) != 0;
  };
  reading::visit_counters(
      profile.database(), window, [&] { profile.progress("writing counters"); },
      [&](const reading::Counter& counter, std::int64_t time, double value) {
        const bool wanted = among(options.filter.devices, counter.device) &&
                            (counter.process == 0 || among(options.processes, counter.process));
        if (wanted) writer.add(counter, time, value);
      });
}

}  // namespace

Visited write_format(store::Database& source, const std::string& path, const FileFormat& format,
                     const ExportOptions& options,
                     const std::function<void(std::string_view)>& progress,
                     const std::function<bool()>& stop) {
  source.watch(stop);
  source.sort_with_threads(1);
  reading::Profile profile(source, options.filter, reading::NameStyle::modern, progress);
  reading::Tables tables(source);
  const reading::Window window = reading::find_window(
      tables, options.filter.from, options.filter.to, [&] { return profile.zero(); });
  Visited visited;
  if (format.write) {
    visited = format.write(
        profile,
        {.path = path, .name = options.name, .window = window, .processes = options.processes});
  } else {
    TextFile file(path, options.name, format.gzip);
    const auto writer = format.make(file, profile);
    Texts texts;
    WriterThread thread(*writer);
    visited = visit_activities(profile, window, options.processes, texts,
                               [&](const Activity& activity) { thread.add(activity); });
    thread.finish();
    if (format.counters) add_counters(profile, window, options, *writer);
    writer->finish();
    file.finish();
  }
  source.watch({});
  return visited;
}

}  // namespace gpuprof::exporting
