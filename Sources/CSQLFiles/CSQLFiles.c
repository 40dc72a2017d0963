#include "CSQLFiles.h"

// What Swift Package Manager makes of an embedded resource is a Swift array with an element for each byte, on which the optimiser
// spends 32 s (Documentation/Decisions/build-and-tests.md). Clang has #embed of C23 in older dialects too.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char schema[] = {
#embed "../../sql/schema.sql" suffix(, 0)
};

static const char applications[] = {
#embed "../../sql/applications.sql" suffix(, 0)
};

static const char functions[] = {
#embed "../../Examples/functions/skyrow-functions.mjs" suffix(, 0)
};

const char *skyrow_schema_sql(void) { return schema; }

const char *skyrow_applications_sql(void) { return applications; }

const char *skyrow_functions_mjs(void) { return functions; }
