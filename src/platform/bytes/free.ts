/**
 * Frees memory that nobody uses any more, without waiting for the garbage collector. A file passes
 * through the service in pieces; as garbage they would make V8 collect its whole heap again and
 * again, each time for as long as a hundred scores take. Memory that is shared with other buffers
 * stays.
 */
export function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
