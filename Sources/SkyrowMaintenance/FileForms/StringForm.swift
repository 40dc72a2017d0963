import SkyrowModel

struct StringForm: FileForm {
    func value(inText text: String) -> RecordValue { .string(text) }
}
