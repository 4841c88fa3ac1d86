import { NativeSelect, type NativeSelectProps } from '@mantine/core'
import { deploymentChoices, useDeployed } from '../api/deployed.ts'

/** A choice of a deployment; `none` stands for no choice. */
export function DeploymentSelect({ none, ...field }: NativeSelectProps & { none: string }) {
  const choices = deploymentChoices(useDeployed().data ?? [])
  return (
    <NativeSelect label="Deployment" data={[{ value: '', label: none }, ...choices]} {...field} />
  )
}
