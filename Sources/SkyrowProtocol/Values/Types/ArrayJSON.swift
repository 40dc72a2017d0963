import SkyrowJSON
import SkyrowModel

// The JSON form of the array of a column, which is that of an array in a json field. What a client sends is read as the
// latter, and becomes the former by the type of its field.

extension JSONWriter {
    func array(_ elements: UnsafeBufferPointer<BorrowedValue>) {
        beginArray()
        for element in elements { value(element) }
        endArray()
    }
}
