import type { NewAuditRecord } from '../audit/record.ts'
import type { Page, PageRequest } from '../paging.ts'

/** A management change as it was written down. */
export type AuditRecord = Omit<NewAuditRecord, 'teamId' | 'action'> & { readonly action: string }

export interface AuditLogFilter {
  /** Id of the thing that changed; absent: all. */
  readonly subject?: string | undefined
}

/** What the service needs of the database. */
export interface AuditLogStore {
  /** A team's records, newest first. */
  ofTeam(teamId: string, filter: AuditLogFilter, page: PageRequest): Promise<Page<AuditRecord>>
}

/** Who changed what, when and why. Written by the changes themselves, see `audit/`; here only read. */
export class AuditLogService {
  private readonly store: AuditLogStore

  constructor(store: AuditLogStore) {
    this.store = store
  }

  /** The records of a team, newest first. */
  list(teamId: string, filter: AuditLogFilter, page: PageRequest): Promise<Page<AuditRecord>> {
    return this.store.ofTeam(teamId, filter, page)
  }
}
