// CSV: a row for each GPU activity and API call.
#include "libprof/base/printable.hpp"
#include "libprof/exchange/export/format.hpp"

namespace gpuprof::exporting {
namespace {

constexpr std::string_view header =
    "type,name,start_ns,end_ns,duration_ns,process_id,thread_id,device_id,context_id,stream_id,"
    "correlation_id,bytes,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers_per_thread,"
    "static_shared_bytes,dynamic_shared_bytes,nvtx_path\n";

class CsvWriter : public FormatWriter {
 public:
  explicit CsvWriter(TextFile& file) : file_(file) { file_ << header; }

  void add(const Activity& activity) override {
    const bool gpu = activity.group == Activity::Group::gpu;
    if (!gpu && activity.group != Activity::Group::api) return;
    file_ << activity.type << ",";
    text(activity.name);
    for (const std::int64_t number :
         {activity.start, activity.end, activity.duration(), activity.process}) {
      file_ << "," << number;
    }
    file_ << ",";
    if (!gpu) file_ << activity.thread;
    for (const std::int64_t id : {activity.device, activity.context, activity.stream}) {
      file_ << ",";
      if (gpu) file_ << id;
    }
    file_ << "," << activity.correlation << ",";
    if (activity.bytes) file_ << *activity.bytes;
    if (const auto& shape = activity.shape) {
      for (const std::int64_t size : shape->grid) file_ << "," << size;
      for (const std::int64_t size : shape->block) file_ << "," << size;
      for (const auto& value : {shape->registers, shape->static_memory, shape->dynamic_memory}) {
        file_ << ",";
        if (value) file_ << *value;
      }
    } else {
      file_ << ",,,,,,,,,";
    }
    file_ << ",";
    if (!activity.path.empty()) text(activity.path);
    file_ << "\n";
  }
  void finish() override {}

 private:
  void text(std::string_view text) {
    file_ << "\"";
    for (const char c : printable(text)) {
      if (c == '"') file_ << "\"";
      file_ << std::string_view(&c, 1);
    }
    file_ << "\"";
  }

  TextFile& file_;
};

}  // namespace

extern const FileFormat csv_format{
    .name = "csv",
    .ending = ".csv",
    .begins = "type,name,start_ns,end_ns,",
    .help = "a row for each GPU activity and API call",
    .make = [](TextFile& file, reading::Profile&) -> std::unique_ptr<FormatWriter> {
      return std::make_unique<CsvWriter>(file);
    },
};

}  // namespace gpuprof::exporting
