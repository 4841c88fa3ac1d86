import type { EventType } from '../../identity/outbox.ts'

/** A receiver of events. */
export interface Webhook {
  readonly id: string
  readonly teamId: string
  readonly url: string
  readonly description: string | null
  /** Null: all types. */
  readonly types: readonly EventType[] | null
  readonly isActive: boolean
  readonly isFull: boolean
  readonly missedEvents: number
  readonly failingSince: Date | null
  readonly previousUntil: Date | null
  readonly createdBy: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Its keys as they are stored. */
export interface SealedSecrets {
  readonly secret: Uint8Array
  /** Key before the last rotation; null without one. */
  readonly previousSecret: Uint8Array | null
  readonly sealedWith: string
}

export type DeliveryState = 'waiting' | 'delivered' | 'dead'

/** An event on its way to a webhook. */
export interface Delivery {
  readonly id: string
  readonly eventId: string
  readonly type: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly nextAttemptAt: Date
  readonly lastAttemptAt: Date | null
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly finishedAt: Date | null
  readonly createdAt: Date
}
