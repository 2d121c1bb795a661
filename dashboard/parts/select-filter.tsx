interface SelectFilterProps {
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly value: string;
  onChange(value: string): void;
}

/** A drop-down filter above a view. */
export function SelectFilter({ label, options, value, onChange }: SelectFilterProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
