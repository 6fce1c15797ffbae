-- What each table and view is.
--
-- table TEXT: name of the table or view
-- doc TEXT: what a row is
-- type TEXT: table or view
-- look_first INTEGER: 1, 2, ...: of what is there this is worth a look first, in this order; NULL = of
--   the rest
CREATE VIEW TABLE_DOC AS
SELECT t.text AS "table", d.text AS doc, y.text AS type, x.lookFirst AS look_first
FROM TABLE_TEXT AS x
JOIN DOC_TEXT AS t ON t.id = x."table"
JOIN DOC_TEXT AS d ON d.id = x.doc
JOIN DOC_TEXT AS y ON y.id = x.type;
