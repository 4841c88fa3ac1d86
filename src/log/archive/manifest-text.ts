import type { ArchiveFile } from './manifest-store.ts'
import { dayText } from './names.ts'

/** Version of the form. */
const FORM = 1

/** `_manifest.json`: the files of a day, for those who have only the store of objects. */
export function manifestText(dayMs: number, files: readonly ArchiveFile[]): string {
  const listed = files.map((file) => ({
    name: file.key.slice(file.key.lastIndexOf('/') + 1),
    generation: file.name.generation,
    rows: file.rowCount,
    requests: file.records,
    applicants: file.applicants,
    bytes: file.bytes,
    sha256: file.sha256.toString('hex'),
    row_groups: file.rowGroups.map(({ rows, firstRequestId, lastRequestId }) => ({
      rows,
      first_request_id: firstRequestId,
      last_request_id: lastRequestId,
    })),
  }))
  return `${JSON.stringify({ version: FORM, day: dayText(dayMs), files: listed }, null, 1)}\n`
}
