-- What the words of a text cost: ten microseconds and more. PostgreSQL took them for cheap, and for the first records that have
-- some words it read a table in the order of its ids instead of those that an index finds.

ALTER FUNCTION _words(text) COST 1000;
ALTER FUNCTION _words(regconfig, text) COST 1000;
