interface TextFiltersProps<FieldInput extends string> {
  readonly fields: readonly (readonly [field: FieldInput, label: string, placeholder: string])[];
  readonly typed: Readonly<Record<FieldInput, string>>;
  onType(typed: Readonly<Record<FieldInput, string>>): void;
}

/** Text fields above a view that filter it. */
export function TextFilters<FieldInput extends string>({ fields, typed, onType }: TextFiltersProps<FieldInput>) {
  return (
    <>
      {fields.map(([field, label, placeholder]) => (
        <label key={field}>
          {label}
          <input
            type="search"
            spellcheck={false}
            autocapitalize="off"
            placeholder={placeholder}
            value={typed[field]}
            onInput={(event) => onType({ ...typed, [field]: event.currentTarget.value })}
          />
        </label>
      ))}
    </>
  );
}
