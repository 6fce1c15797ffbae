#include "libprof/store/fact_writer.hpp"

#include <string_view>

#include "libprof/wire/limits.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

void FactWriter::load_api_names(Share& share, std::int64_t process_id,
                                std::span<const std::byte> payload) {
  const auto names = wire::decode_api_names(payload);
  if (!names) return counts_.add(process_id, malformed_frames);
  Statement insert = database_.prepare("INSERT OR IGNORE INTO API_NAME VALUES(?1, ?2, ?3)");
  std::uint64_t over = 0;
  for (const wire::ApiName& name : *names) {
    const bool fits = share.api_names < wire::max_stream_api_names &&
                      name.cbid < wire::max_callback_id && name.domain.size() <= wire::max_name &&
                      name.name.size() <= wire::max_name;
    if (!fits) {
      ++over;
      continue;
    }
    ++share.api_names;
    insert.bind(1, name.domain).bind(2, std::int64_t{name.cbid}).bind(3, name.name).run();
  }
  if (over) counts_.add(process_id, left_out, over);
}

void FactWriter::load_payload_schema(Share& share, std::int64_t process_id,
                                     std::span<const std::byte> payload) {
  const auto schema = wire::decode_payload_schema(payload);
  if (!schema) return counts_.add(process_id, malformed_frames);
  Statement insert = database_.prepare(
      "INSERT OR IGNORE INTO NVTX_PAYLOAD_ENTRY VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
      "?11, ?12)");
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  std::int64_t place = 0;
  std::uint64_t over = 0;
  for (const wire::PayloadEntry& entry : schema->entries) {
    const bool fits = share.payload_entries < wire::max_stream_payload_entries &&
                      schema->name.size() <= wire::max_name && entry.name.size() <= wire::max_name;
    if (!fits) {
      ++over;
      continue;
    }
    ++share.payload_entries;
    insert.bind(1, process_id).bind(2, std::int64_t{schema->domain});
    insert.bind(3, number(schema->id)).bind(4, std::int64_t{schema->is_enum});
    insert.bind(5, schema->name).bind(6, number(schema->size)).bind(7, place++);
    insert.bind(8, entry.name).bind(9, number(entry.type)).bind(10, number(entry.flags));
    insert.bind(11, number(entry.length)).bind(12, number(entry.offset)).run();
  }
  if (over) counts_.add(process_id, left_out, over);
}

void FactWriter::load_clock(Share& share, std::int64_t process_id,
                            std::span<const std::byte> payload) {
  const auto clock = wire::decode_clock(payload);
  if (!clock) return counts_.add(process_id, malformed_frames);
  if (share.clocks++ >= wire::max_clocks) return counts_.add(process_id, left_out);
  constexpr std::string_view moments[]{"first", "last", "meanwhile"};
  database_
      .prepare(
          "INSERT INTO CLOCK VALUES(?1, ?2, ?3, ?4, ?5, nullif(?6, 0), nullif(?7, 0), "
          "nullif(?8, 0))")
      .bind(1, process_id)
      .bind(2, moments[static_cast<std::size_t>(clock->moment)])
      .bind(3, clock->realtime)
      .bind(4, clock->monotonic)
      .bind(5, clock->cupti)
      .bind(6, clock->monotonic_raw)
      .bind(7, clock->ticks)
      .bind(8, clock->realtime_error)
      .run();
}

}  // namespace gpuprof::store
