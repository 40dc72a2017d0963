#pragma once

// The files of sql/, and the function server for Node: their text in UTF-8, with a zero byte behind it.
const char *_Nonnull skyrow_schema_sql(void);
const char *_Nonnull skyrow_applications_sql(void);
const char *_Nonnull skyrow_functions_mjs(void);
