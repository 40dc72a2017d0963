package import SkyrowJSON
package import SkyrowModel

extension ExplainMode {
    /// Reads `"explain": true` or `"analyze"`; nil where the query is to be answered.
    init?(_ parameters: Parameters) throws(SkyrowError) {
        guard let value = parameters["explain"], value.boolean != false else { return nil }
        if value.boolean == true {
            self = .plan
        } else if value.string == ExplainMode.analyze.rawValue {
            self = .analyze
        } else {
            throw parameters.wrongType("explain", "true, false or \"analyze\"")
        }
    }
}

extension JSONWriter {
    /// The result of `record:query` and `record:aggregate` with `explain`.
    package func explanation(_ explanation: QueryExplanation) {
        beginObject()
        key("statements")
        beginArray()
        for statement in explanation.statements {
            beginObject()
            key("sql")
            string(statement.sql)
            key("values")
            strings(statement.values)
            key("plan")
            json(statement.plan)
            key("rows_estimated")
            integer(statement.rowsEstimated)
            endObject()
        }
        endArray()
        key("advice")
        beginArray()
        for advice in explanation.advice {
            beginObject()
            key("reason")
            string(advice.reason.rawValue)
            key("message")
            string(advice.message)
            if let index = advice.index {
                key("schema:index:create")
                indexDefinition(index)
            }
            endObject()
        }
        endArray()
        key("cost_class")
        string(explanation.costClass.rawValue)
        endObject()
    }
}
