-- What each column of the tables and views is.
--
-- table TEXT: name of the table or view
-- column TEXT: name of the column
-- doc TEXT: meaning, and what stands for none
-- unit TEXT: unit of its numbers, ns or bytes for example; count = of things; NULL = they have none,
--   as ids and names, or each row has its own
CREATE VIEW COLUMN_DOC AS
SELECT t.text AS "table", c.text AS "column", d.text AS doc, u.text AS unit
FROM COLUMN_TEXT AS x
JOIN DOC_TEXT AS t ON t.id = x."table"
JOIN DOC_TEXT AS c ON c.id = x."column"
JOIN DOC_TEXT AS d ON d.id = x.doc
LEFT JOIN DOC_TEXT AS u ON u.id = x.unit;
