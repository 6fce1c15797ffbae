#include "libprof/store/docs.hpp"

namespace gpuprof::store {

void Docs::open() {
  Statement texts = database_.prepare("SELECT text, id FROM main.DOC_TEXT");
  while (texts.step()) ids_.try_emplace(std::string(texts.text(0)), texts.integer(1));
  insert_text_ = database_.prepare("INSERT INTO main.DOC_TEXT(id, text) VALUES(?1, ?2)");
  insert_table_ =
      database_.prepare("INSERT OR IGNORE INTO main.TABLE_TEXT VALUES(?1, ?2, ?3, nullif(?4, 0))");
  insert_column_ =
      database_.prepare("INSERT OR IGNORE INTO main.COLUMN_TEXT VALUES(?1, ?2, ?3, nullif(?4, 0))");
  open_ = true;
}

std::int64_t Docs::id_of(std::string_view text) {
  const auto known = ids_.find(text);
  if (known != ids_.end()) return known->second;
  const auto id = static_cast<std::int64_t>(ids_.size()) + 1;
  insert_text_.bind(1, id).bind(2, text).run();
  ids_.emplace(text, id);
  return id;
}

void Docs::add_table(std::string_view table, std::string_view doc, bool is_view,
                     std::int64_t look_first) {
  if (!open_) open();
  const std::int64_t name = id_of(table), text = id_of(doc),
                     type = id_of(is_view ? "view" : "table");
  insert_table_.bind(1, name).bind(2, text).bind(3, type).bind(4, look_first).run();
}

void Docs::add_column(std::string_view table, std::string_view column,
                      const schema::WrittenDoc& doc) {
  if (!open_) open();
  const std::int64_t of_table = id_of(table), of_column = id_of(column), text = id_of(doc.text);
  const std::int64_t unit = doc.unit.empty() ? 0 : id_of(doc.unit);
  insert_column_.bind(1, of_table).bind(2, of_column).bind(3, text).bind(4, unit).run();
}

}  // namespace gpuprof::store
