/**
 * Gives bytes memory of their own, to be kept. Node takes small buffers out of portions of 64 KiB;
 * one that is kept keeps its whole portion.
 */
export function detach(bytes: Uint8Array): Buffer<ArrayBuffer> {
  const own = Buffer.allocUnsafeSlow(bytes.length)
  own.set(bytes)
  return own
}
