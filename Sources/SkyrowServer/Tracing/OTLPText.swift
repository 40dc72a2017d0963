import SkyrowHTTP
import SkyrowJSON
import Tracing

/// Spans in the JSON form of the OpenTelemetry protocol (OTLP 1), which collectors and most backends read.
///
/// One document a line is the format of OpenTelemetry's file exporter. A collector's `otlpjsonfile` receiver reads it,
/// and a line can be posted to `/v1/traces`. https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
enum OTLPText {
    /// Returns one document without line feeds.
    static func document(_ spans: [FinishedSpan], version: String) -> [UInt8] {
        let writer = JSONWriter(capacity: 512 * spans.count)
        writer.object {
            writer.array("resourceSpans") {
                writer.object {
                    writer.object("resource") {
                        writer.attributes([("service.name", .string("skyrow")), ("service.version", .string(version))])
                    }
                    writer.array("scopeSpans") {
                        writer.object {
                            writer.object("scope") { writer.member("name", "skyrow") }
                            writer.array("spans") {
                                for span in spans { writer.span(span) }
                            }
                        }
                    }
                }
            }
        }
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate func span(_ span: FinishedSpan) {
        object {
            member("traceId", span.identity.traceID.description)
            member("spanId", span.identity.spanID.description)
            if let parent = span.parentID { member("parentSpanId", parent.description) }
            member("name", span.name)
            member("kind", span.kind.number)
            // The JSON form of protocol buffers has 64-bit numbers as strings.
            member("startTimeUnixNano", "\(span.start)")
            member("endTimeUnixNano", "\(span.end)")
            attributes(span.attributes.sorted)
            if !span.events.isEmpty {
                array("events") {
                    for event in span.events {
                        object {
                            member("timeUnixNano", "\(event.nanosecondsSinceEpoch)")
                            member("name", event.name)
                            attributes(event.attributes.sorted)
                        }
                    }
                }
            }
            if let status = span.status {
                object("status") {
                    member("code", status.code == .error ? 2 : 1)
                    if let message = status.message { member("message", message) }
                }
            }
        }
    }

    fileprivate func attributes(_ attributes: [(name: String, value: SpanAttribute)]) {
        guard !attributes.isEmpty else { return }
        array("attributes") {
            for (name, value) in attributes {
                object {
                    member("key", name)
                    key("value")
                    self.value(value)
                }
            }
        }
    }

    private func value(_ attribute: SpanAttribute) {
        object {
            switch attribute {
            case .int32(let number): member("intValue", "\(number)")
            case .int64(let number): member("intValue", "\(number)")
            case .double(let number) where number.isFinite:
                key("doubleValue")
                self.number(number)
            case .double(let number):
                member("doubleValue", number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
            case .bool(let value): member("boolValue", value)
            case .string(let text): member("stringValue", text)
            case .stringConvertible(let value): member("stringValue", "\(value)")
            // Attributes are never lists.
            default: break
            }
        }
    }

    fileprivate func object(_ name: StaticString, _ body: () -> Void) {
        key(name)
        object(body)
    }

    fileprivate func object(_ body: () -> Void) {
        beginObject()
        body()
        endObject()
    }

    fileprivate func array(_ name: StaticString, _ body: () -> Void) {
        key(name)
        beginArray()
        body()
        endArray()
    }
}

extension SpanKind {
    /// The value of OTLP's `Span.SpanKind`.
    fileprivate var number: Int64 {
        switch self {
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        default: 1
        }
    }
}

extension SpanAttributes {
    fileprivate var sorted: [(name: String, value: SpanAttribute)] {
        var attributes: [(name: String, value: SpanAttribute)] = []
        forEach { attributes.append(($0, $1)) }
        return attributes.sorted { $0.name < $1.name }
    }
}
