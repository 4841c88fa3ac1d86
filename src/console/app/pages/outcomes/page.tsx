import { Button } from '@mantine/core'
import { useState } from 'react'
import { useDefinitions } from '../../api/reports.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { counted } from '../../ui/figures.ts'
import { Page, Panel, TwoLines } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { actions, type Columns, ListTable } from '../../ui/table.tsx'
import { DefinitionDialog } from './definition-dialog.tsx'
import { ImportPanel } from './import-panel.tsx'

type Definition = Schemas['OutcomeDefinition']

export default function OutcomesPage() {
  const { mayDeploy } = useUser()
  const definitions = useDefinitions()
  const [asked, setAsked] = useState<Definition | 'new' | null>(null)
  const hint = mayDeploy
    ? 'Define an outcome, then upload what became of applicants.'
    : 'An owner, admin or lead modeler can define an outcome.'
  const none = <Empty title="Nothing counts as bad yet" hint={hint} />
  return (
    <Page
      title="Outcomes"
      actions={mayDeploy && <Button onClick={() => setAsked('new')}>Define an outcome</Button>}
    >
      <p className="lead">
        Performance compares scores with what became of the applicants. A definition says when an
        account is bad, and when its outcome is ripe.
      </p>
      <Panel title="Definitions">
        <ListTable
          caption="Definitions of outcomes"
          of={definitions}
          none={none}
          columns={makeColumns(mayDeploy ? setAsked : null)}
        />
      </Panel>
      {mayDeploy && <ImportPanel />}
      {asked !== null && (
        <DefinitionDialog
          present={asked === 'new' ? null : asked}
          taken={definitions.data?.map(({ id }) => id) ?? []}
          onClose={() => setAsked(null)}
        />
      )}
    </Page>
  )
}

function makeColumns(change: ((one: Definition) => void) | null): Columns<Definition> {
  return [
    {
      head: 'Definition',
      cell: ({ id, label }) => (
        <TwoLines below={<code>{id}</code>}>
          <bdi>{label}</bdi>
        </TwoLines>
      ),
      value: ({ label }) => label.toLowerCase(),
    },
    { head: 'Bad is', cell: ({ bad_rule_text: rule }) => <bdi className="wrap">{rule}</bdi> },
    {
      head: 'Within',
      cell: ({ window_months: months }) => `${counted(months, 'month')} of booking`,
      value: ({ window_months: months }) => months,
    },
    {
      head: 'Ripe after',
      cell: ({ maturity_months: months }) => counted(months, 'month'),
      value: ({ maturity_months: months }) => months,
    },
    actions('Change', change && ((one) => [['Change', `Change ${one.label}`, () => change(one)]])),
  ]
}
