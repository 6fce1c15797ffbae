#include "libprof/view/model/answers.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/read/palette.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/model/account_answer.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

using nlohmann::json;

// Writes numbers separated by commas.
class Numbers {
 public:
  explicit Numbers(std::string& text) : text_(text) {}
  void open() {
    separate();
    text_ += '[';
    first_ = true;
  }
  void close() {
    text_ += ']';
    first_ = false;
  }
  template <class Number>
  void add(Number number) {
    separate();
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text_.append(digits, end);
  }

 private:
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  std::string& text_;
  bool first_ = true;
};

// JSON has no infinity and no NaN.
void add_real(Numbers& numbers, double value) { numbers.add(value - value == 0 ? value : 0.0); }

// A row of view/TILES.md.
void add_pieces(Numbers& numbers, const std::vector<Piece>& pieces) {
  numbers.open();
  if (!pieces.empty()) numbers.add(pieces.front().first);
  std::int64_t x = 0;
  for (const Piece& piece : pieces) {
    // Most pieces are one pixel wide and adjacent.
    if (piece.x == x && piece.x_end == x + 1) {
      numbers.add(-std::int64_t{piece.count});
    } else {
      numbers.add(piece.x - x + 1);
      numbers.add(piece.x_end - piece.x);
      numbers.add(piece.count);
    }
    numbers.add(piece.longest_name);
    numbers.add(piece.longest);
    if (piece.count > 1) numbers.add(piece.busy);
    x = piece.x_end;
  }
  numbers.close();
}

}  // namespace

std::string run_answer(const Model& model, const RunPart& part, std::string_view title,
                       std::span<const std::string> notes, std::size_t runs, Growth growth,
                       std::size_t most_tracks) {
  constexpr std::size_t longest = 200;  // of a part of a path
  json tracks = json::array(), losses = json::array();
  for (const std::string& loss : model.losses) losses.push_back(shortened(loss, 4 * longest));
  if (model.tracks.size() > most_tracks) {
    losses.push_back(std::to_string(model.tracks.size() - most_tracks) + " tracks are not drawn");
  }
  for (const Track& track : model.tracks) {
    if (tracks.size() == most_tracks) break;
    json path = json::array();
    for (const std::string& each : track.path) path.push_back(shortened(each, longest));
    tracks.push_back({{"kind", name_of(track.kind)},
                      {"noun", noun_of(track.kind)},
                      {"path", std::move(path)},
                      {"device", track.device},
                      {"rows", track.rows.size()},
                      {"records", track.records},
                      {"unit", shortened(track.counter.unit, longest)}});
  }
  return json_text({{"title", shortened(title, longest)},
                    {"path", valid_utf8(part.path)},
                    {"account", model.account ? account_answer(*model.account) : json()},
                    {"runs", runs},
                    {"version", growth.version},
                    {"grows", growth.grows},
                    {"part", growth.is_part},
                    {"begin", saturating_subtract(part.window.from, model.zero)},
                    {"end", saturating_subtract(part.window.to, model.zero)},
                    {"first_view",
                     {{"from", saturating_subtract(part.first_view.from, model.zero)},
                      {"to", saturating_subtract(part.first_view.to, model.zero)}}},
                    {"records", part.drawn},
                    {"stored", part.records},
                    {"tracks", std::move(tracks)},
                    {"losses", std::move(losses)},
                    {"untimed", model.without_times},
                    {"notes", std::vector<std::string>(notes.begin(), notes.end())}});
}

std::string tiles_answer(const Model& model, std::span<const std::uint32_t> tracks,
                         std::int64_t from, std::int64_t to, std::uint32_t width,
                         std::vector<bool>* used_names) {
  std::string text = "{\"tracks\":";
  Numbers numbers(text);
  numbers.open();
  for (const std::uint32_t number : tracks) {
    if (number >= model.tracks.size()) continue;
    const Track& track = model.tracks[number];
    const Tile tile = make_tile(track, from, to, width);
    numbers.open();
    numbers.add(number);
    numbers.open();
    for (const std::vector<Piece>& row : tile.rows) {
      add_pieces(numbers, row);
      if (!used_names) continue;
      for (const Piece& piece : row) (*used_names)[piece.longest_name] = true;
    }
    numbers.close();
    numbers.open();
    if (track.kind == TrackKind::counter && tile.before) {
      numbers.add(-1);
      for (int i = 0; i < 3; ++i) add_real(numbers, *tile.before);
    }
    for (const PointRange& point : tile.points) {
      numbers.add(point.x);
      add_real(numbers, point.least);
      add_real(numbers, point.most);
      add_real(numbers, point.last);
    }
    numbers.close();
    numbers.close();
  }
  numbers.close();
  return text + "}";
}

std::string names_answer(const Model& model, std::span<const std::uint32_t> names) {
  json answer = json::object();
  for (const std::uint32_t name : names) {
    if (name >= model.names.size()) continue;
    const Name& known = model.names[name];
    answer[std::to_string(name)] = {valid_utf8(known.label), valid_utf8(known.text),
                                    color_of(known)};
  }
  return json_text({{"names", std::move(answer)}});
}

namespace {

json devices_of(const Model& model, const Statistics& all) {
  json devices = json::array();
  for (const Statistics::Device& each : all.devices) {
    devices.push_back({{"name", valid_utf8(each.name)},
                       {"records", each.records},
                       {"first", saturating_subtract(each.work.from, model.zero)},
                       {"last", saturating_subtract(each.work.to, model.zero)},
                       {"busy", each.busy},
                       {"compute", each.compute},
                       {"copies", each.copies},
                       {"both", each.both},
                       {"exposed", each.exposed}});
  }
  return devices;
}

}  // namespace

std::string statistics_answer(const Model& model, const Window& window, const Statistics& all,
                              std::size_t most) {
  json work = json::object(), counts = json::object();
  for (const Statistics::Work& each : all.work) {
    const std::string kind(name_of(each.kind));
    const std::size_t names = counts.value(kind, std::size_t{0});
    counts[kind] = names + 1;
    if (names >= most) continue;
    work[kind].push_back({{"id", each.name},
                          {"name", valid_utf8(model.names[each.name].text)},
                          {"label", valid_utf8(model.names[each.name].label)},
                          {"color", color_of(model.names[each.name])},
                          {"count", each.count},
                          {"time", each.time},
                          {"longest", each.longest}});
  }
  return json_text({{"from", saturating_subtract(window.from, model.zero)},
                    {"to", saturating_subtract(window.to, model.zero)},
                    {"devices", devices_of(model, all)},
                    {"work", std::move(work)},
                    {"names", std::move(counts)}});
}

namespace {

json place_of(const Model& model, const Place& place, const Item& item) {
  return {{"track", place.track},
          {"row", place.row},
          {"item", place.item},
          {"name", item.name},
          {"begin", saturating_subtract(item.begin, model.zero)},
          {"end", saturating_subtract(item.end, model.zero)}};
}

}  // namespace

std::string found_answer(const Model& model, const Found& found) {
  json names = json::array();
  for (const auto& [name, count] : found.names) names.push_back({name, count});
  json answer = {{"count", found.count}, {"around", found.around}, {"names", std::move(names)}};
  if (found.next) {
    if (const auto item = item_at(model, *found.next)) {
      answer["next"] = place_of(model, *found.next, *item);
    }
  }
  return json_text(answer);
}

namespace {

// The names with the greatest differences, and what all together took.
json differences_of(TrackKind kind, const std::vector<Name>& names, const Statistics& first,
                    const Statistics& second, std::size_t most) {
  const std::vector<Difference> all = differences(names, kind, first, second);
  Difference sum;
  json shown = json::array();
  for (const Difference& each : all) {
    for (const int i : {0, 1}) {
      sum.count[i] += each.count[i];
      sum.time[i] += each.time[i];
    }
    if (shown.size() == most) continue;
    shown.push_back({{"name", valid_utf8(each.name)}, {"count", each.count}, {"time", each.time}});
    if (kind == TrackKind::stream) {
      shown.back()["color"] = reading::color_of_work(each.name, each.communicates);
    }
  }
  return {{"names", all.size()},
          {"all", {{"count", sum.count}, {"time", sum.time}}},
          {"each", std::move(shown)}};
}

}  // namespace

std::string differences_answer(const Model& first, Window in_first, const Model& second,
                               Window in_second, std::size_t most) {
  const Statistics of_first = statistics(first, in_first.from, in_first.to);
  const Statistics of_second = statistics(second, in_second.from, in_second.to);
  const auto lasted = [](const Model& model, Window window) -> json {
    const std::int64_t from = std::max(model.begin, window.from);
    return {
        {"from", saturating_subtract(from, model.zero)},
        {"to", saturating_subtract(std::max(from, std::min(model.end, window.to)), model.zero)}};
  };
  json work = json::object();
  for (const TrackKind kind : {TrackKind::stream, TrackKind::range, TrackKind::api}) {
    work[name_of(kind)] = differences_of(kind, second.names, of_first, of_second, most);
  }
  return json_text({{"from", saturating_subtract(in_first.from, first.zero)},
                    {"to", saturating_subtract(in_first.to, first.zero)},
                    {"lasted", {lasted(first, in_first), lasted(second, in_second)}},
                    {"devices", {devices_of(first, of_first), devices_of(second, of_second)}},
                    {"work", std::move(work)}});
}

std::string occurrence_answer(const Model& model, const Occurrence& found, std::int64_t steady) {
  json answer = {{"count", found.count}};
  if (found.begin) answer["begin"] = saturating_subtract(*found.begin, model.zero);
  if (steady > 0) answer["steady"] = steady;
  return json_text(answer);
}

namespace {

constexpr std::size_t longest_stop_name = 400;

// The first track of the device; -1: it has none.
std::int64_t track_of(const Model& model, std::int64_t device) {
  const auto found = std::ranges::find(model.tracks, device, &Track::device);
  return found == model.tracks.end() ? -1 : found - model.tracks.begin();
}

json gap_json(const Model& model, const Gap& gap) {
  json host = json::array();
  for (const HostPart& part : gap.host) {
    host.push_back({shortened(part.name, longest_stop_name), part.time});
  }
  return {{"at", gap.begin},
          {"time", gap.time},
          {"track", track_of(model, gap.device)},
          {"device", gap.device},
          {"cause", gap.cause()},
          {"behind", shortened(gap.behind, longest_stop_name)},
          {"host", std::move(host)}};
}

}  // namespace

std::string gaps_answer(const Model& model, const Stops& stops, const Window& window,
                        std::size_t most) {
  json gaps = json::array();
  for (const Gap& gap : stops.gaps) {
    const std::int64_t begin = saturating_add(gap.begin, model.zero);
    if (begin >= window.to || saturating_add(begin, gap.time) <= window.from) continue;
    if (gaps.size() == most) break;
    gaps.push_back(gap_json(model, gap));
  }
  return json_text({{"gaps", std::move(gaps)}});
}

std::string stops_answer(const Model& model, const Stops& stops) {
  json gaps = json::array(), steps = json::array(), losses = json::array();
  for (const Gap& gap : stops.gaps) {
    if (gaps.size() == most_stops) break;
    gaps.push_back(gap_json(model, gap));
  }
  for (const Step& step : stops.steps) {
    steps.push_back({{"at", step.begin},
                     {"time", step.time},
                     {"track", step.track},
                     {"name", shortened(step.name, longest_stop_name)}});
  }
  for (const TimedLoss& loss : stops.losses) {
    losses.push_back({{"at", loss.begin},
                      {"time", loss.time},
                      {"track", track_of(model, loss.device)},
                      {"text", loss.text}});
  }
  return json_text({{"gaps", std::move(gaps)},
                    {"steps", std::move(steps)},
                    {"median_step", stops.median_step},
                    {"losses", std::move(losses)}});
}

std::string details_answer(const Model& model, const Place& place, const Item& item,
                           const Details& details) {
  constexpr std::size_t longest = 16 << 10;  // of a text
  json told = json::array();
  for (const Section& section : details.sections) {
    json rows = json::array();
    for (const Detail& detail : section.rows) {
      rows.push_back({shortened(detail.name, longest), shortened(detail.value, longest)});
    }
    told.push_back({{"title", section.title}, {"rows", std::move(rows)}});
  }
  const auto place_of_linked = [&](const Linked& linked) {
    return place_of(model, linked.place, linked.item);
  };
  json links = {{"work", json::array()}, {"waited", json::array()}};
  if (details.links.launch) links["launch"] = place_of_linked(*details.links.launch);
  for (const Linked& work : details.links.work) links["work"].push_back(place_of_linked(work));
  for (const Waited& waited : details.links.waited) {
    json one = place_of_linked(waited.record);
    one["why"] = name_of(waited.why);
    links["waited"].push_back(std::move(one));
  }
  json answer{{"place", place_of(model, place, item)},
              {"sections", std::move(told)},
              {"links", std::move(links)}};
  if (schema::is_kernel_kind(reading::kind_of(model.tables[item.table]))) {
    answer["kernel"] = {{"table", item.table}, {"id", item.id}};
  }
  return json_text(answer);
}

std::string shortened(std::string_view text, std::size_t most) {
  std::string valid = valid_utf8(text);
  if (valid.size() <= most) return valid;
  constexpr std::string_view gap = "…";
  const std::size_t head = (most - gap.size()) / 2;
  return without_middle(valid, head, most - gap.size() - head, gap);
}

std::string growth_answer(Growth growth) {
  return json_text({{"version", growth.version}, {"grows", growth.grows}});
}

std::string error_answer(std::string_view message) {
  return json_text({{"error", valid_utf8(message)}});
}

}  // namespace gpuprof::view
