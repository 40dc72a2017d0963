package import SkyrowModel

/// Members of objects whose names need no escapes.
extension JSONWriter {
    package func member(_ name: StaticString, _ value: Bool) {
        key(name)
        boolean(value)
    }

    package func member(_ name: StaticString, _ value: Int) {
        key(name)
        integer(value)
    }

    package func member(_ name: StaticString, _ value: Int64) {
        key(name)
        integer(value)
    }

    package func member(_ name: StaticString, _ value: String) {
        key(name)
        string(value)
    }

    package func member(_ name: StaticString, _ value: [String]) {
        key(name)
        strings(value)
    }

    package func member(_ name: StaticString, _ value: Timestamp) {
        key(name)
        timestamp(value)
    }

    package func beginObject(_ name: StaticString) {
        key(name)
        beginObject()
    }

    package func beginArray(_ name: StaticString) {
        key(name)
        beginArray()
    }
}
