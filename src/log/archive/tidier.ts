import {
  bytesSource,
  type ObjectStore,
  ObjectStoreError,
} from '../../platform/object-store/object-store.ts'
import { hasContent } from '../../platform/object-store/read-object.ts'
import type { ArchiveLease, HeldLease } from './lease.ts'
import type { Leftover, LeftoverStore } from './leftover-store.ts'
import type { ArchiveFile, ManifestStore } from './manifest-store.ts'
import { dayText, formatManifestKey } from './written-part.ts'

interface TidierOptions {
  readonly objects: ObjectStore
  readonly lease: ArchiveLease
  readonly manifest: ManifestStore
  readonly leftovers: LeftoverStore
  /**
   * Time for which the object of an old file stays. After a failover to a standby that lacks the
   * last commits, it can be the file that readers need.
   */
  readonly keepMs: number
  /** Called for an object that this archive has not put under its name: it is kept. */
  readonly onForeign: (key: string) => void
  /** Called for a file that readers need and that the store does not have. */
  readonly onMissing: (key: string) => void
}

/** Keeps the store of objects as the manifest says. */
export class Tidier {
  private readonly options: TidierOptions

  constructor(options: TidierOptions) {
    this.options = options
  }

  /** Tidies all days on which no other process works. */
  async tidyAll(): Promise<void> {
    const { leftovers, lease, keepMs } = this.options
    for (const dayMs of await leftovers.untidyDays(keepMs)) {
      await lease.hold(dayText(dayMs), async (held) => {
        await leftovers.giveUpForgotten(held, dayMs)
        await this.tidy(held, dayMs)
      })
    }
  }

  /**
   * Writes the manifest of a day, and deletes objects that no reader needs.
   *
   * @param lease of the day
   */
  async tidy(lease: HeldLease, dayMs: number): Promise<void> {
    const { leftovers, keepMs } = this.options
    await this.writeManifest(lease, dayMs)
    await leftovers.setListed(lease, dayMs)
    for (const leftover of await leftovers.due(dayMs, keepMs)) await this.clean(lease, leftover)
  }

  /** Before objects are deleted: who goes by the manifest finds every file that it names. */
  private async writeManifest(lease: HeldLease, dayMs: number): Promise<void> {
    const { objects, manifest, leftovers } = this.options
    const live = await manifest.liveFiles(dayMs)
    const key = formatManifestKey(dayMs)
    if (live.length > 0) {
      lease.check()
      await objects.replace(key, bytesSource(Buffer.from(manifestText(dayMs, live))))
    } else if (await leftovers.isListedInVain(dayMs)) {
      lease.check()
      await objects.delete(key)
    }
  }

  private async clean(lease: HeldLease, leftover: Leftover): Promise<void> {
    const { objects, leftovers, onForeign, onMissing } = this.options
    const { key, liveKey } = leftover
    // It may be the only copy: the database has lost the commit that made it the live one.
    if (liveKey !== null && (await objects.head(liveKey)) === null) return onMissing(liveKey)
    const found = await objects.head(key)
    if (found !== null) {
      if (!(await this.isOwn(leftover, found.bytes))) {
        onForeign(key)
        await leftovers.setForeign(lease, key)
        return
      }
      lease.check()
      await objects.delete(key)
    }
    await leftovers.setGone(lease, key)
  }

  /** Tells whether the object has the content that this archive has put under its name. */
  private async isOwn(leftover: Leftover, bytes: number): Promise<boolean> {
    if (bytes !== leftover.bytes) return false
    // It was compared before readers needed it, and nobody changes an object.
    if (leftover.wasLive) return true
    try {
      return await hasContent(this.options.objects, leftover.key, leftover)
    } catch (error) {
      const isGone = error instanceof ObjectStoreError && error.failure === 'missing'
      if (isGone) return true
      throw error
    }
  }
}

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
