-- Workers that compute the words of texts side by side read on behind the page that was asked for, and a request for fifty
-- records cost three times what it costs alone. Conditions on words stay in the process of the connection, which is one of many.

ALTER FUNCTION _words(text) PARALLEL RESTRICTED;
ALTER FUNCTION _words(regconfig, text) PARALLEL RESTRICTED;
