import { Textarea, TextInput } from '@mantine/core'
import { api, readData } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { useFields } from '../../ui/fields.tsx'

const MONTHS = { type: 'number', min: 1, step: 1, required: true } as const

/** Defines what counts as bad; one that outcomes refer to can't change its rule. */
export function DefinitionDialog(props: {
  present: Schemas['OutcomeDefinition'] | null
  taken: readonly string[]
  onClose: () => void
}) {
  const { present, taken, onClose } = props
  const { fields, bind } = useFields({
    id: present?.id ?? '',
    label: present?.label ?? '',
    rule: present?.bad_rule_text ?? '',
    window: String(present?.window_months ?? 12),
    maturity: String(present?.maturity_months ?? 12),
  })
  const send = () =>
    readData(
      api.PUT('/v1/outcome-definitions/{id}', {
        params: { path: { id: fields.id } },
        body: {
          label: fields.label,
          window_months: Number(fields.window),
          bad_rule_text: fields.rule,
          maturity_months: Number(fields.maturity),
        },
      }),
    )
  const isTaken = present === null && taken.includes(fields.id)
  return (
    <FormDialog
      title={present === null ? 'Define an outcome' : `Change ${present.label}`}
      send={send}
      changes={['/v1/outcome-definitions', '/v1/deployments/{slug}/performance']}
      missing={isTaken ? 'Another definition has this short name.' : null}
      onClose={onClose}
    >
      {present === null && (
        <TextInput
          label="Short name"
          description="What files of outcomes name it by, such as gb12"
          required
          maxLength={64}
          pattern="[A-Za-z0-9_\-]+"
          title="Letters, digits, - and _"
          {...bind('id')}
        />
      )}
      <TextInput
        label="Name"
        description="Such as “Bad within 12 months”"
        required
        maxLength={255}
        {...bind('label')}
      />
      <Textarea
        label="When an account is bad"
        description="Such as “90 days past due, or written off”"
        required
        maxLength={2000}
        {...bind('rule')}
      />
      <TextInput
        {...MONTHS}
        label="Months after booking within which an account counts as bad"
        {...bind('window')}
      />
      <TextInput
        {...MONTHS}
        label="Months after booking from which an outcome is ripe"
        {...bind('maturity')}
      />
    </FormDialog>
  )
}
