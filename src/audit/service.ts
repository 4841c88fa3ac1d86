import type { Page, PageRequest } from '../platform/paging.ts'
import type { NewAuditRecord } from './record.ts'

/** A management change from the audit log. */
export type AuditRecord = Omit<NewAuditRecord, 'teamId' | 'action' | 'claim'> & {
  readonly action: string
}

export interface AuditLogFilter {
  /** Id of the changed object; absent means all objects. */
  readonly subject?: string | undefined
}

/** What the service needs from the database. */
export interface AuditLogStore {
  /** A team's records, newest first. */
  ofTeam(teamId: string, filter: AuditLogFilter, page: PageRequest): Promise<Page<AuditRecord>>
}

/** Reads who changed what, when and why. `insertAuditRecord` writes the records. */
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
