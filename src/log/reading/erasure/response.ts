import type { LogErasure } from './service.ts'

/** An erasure as the API and the command line show it. */
export function erasureFields({ referenceSha256, places, requests, untilMs }: LogErasure) {
  return {
    reference_sha256: referenceSha256,
    places,
    requests,
    covers_until: new Date(untilMs).toISOString(),
  }
}
